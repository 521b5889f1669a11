// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/result.h"
#include "job_server/idleness.h"

namespace aliquot::command_line {
class Command;
}

namespace aliquot::cli {

/// What `aliquot serve` is told of jobs that do not use their GPUs.
struct IdleWords {
    std::string after = "off";
    unsigned below = 5;
    std::string action = "tell";
    std::string grace = "10m";
    std::string min_run = "10m";
    std::string most;
};

/// words   outlives the parsing
void add_idle_flags(command_line::Command& command, IdleWords& words);

/// errors   kInvalidInput: no duration
Result<job_server::IdlePolicy> idle_policy(const IdleWords& words);

}  // namespace aliquot::cli
