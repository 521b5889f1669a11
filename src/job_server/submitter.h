// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "job_server/attempt.h"

/// How a process becomes a submitter's program. For a process with one thread, also a child before exec.
namespace aliquot::job_server {

/// Its groups, group and user, when this process is root's. False: errno says why, and it must not go on.
bool become_submitter(const Spec& spec);
/// These variables and no others.
void set_environment(const std::vector<std::pair<std::string, std::string>>& variables);
/// Replaces this process. Returns when that failed: errno says why.
void execute(const std::vector<std::string>& words);

}  // namespace aliquot::job_server
