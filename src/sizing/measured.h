// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace aliquot::sizing {

/// What was seen of one run of a workload. 0: not measured.
struct Run {
    std::string workload;
    std::string instance;            // "g5.2xlarge"
    double gpu_memory_peak_gib = 0;  // of each GPU
    double gpu_busy_percent = 0;     // 95th percentile
    double cpu_peak = 0;             // cores, 95th percentile
    double memory_peak_gib = 0;
    unsigned gpus = 1;
    bool out_of_memory = false;
};

/// Reads a list of runs: YAML or JSON, at the top or under `runs`.
/// errors   kInvalidInput: "file:line:column: ..."
Result<std::vector<Run>> read_runs(std::string_view file, std::string_view text);

enum class Direction : std::uint8_t { kStay, kDown, kUp, kTooFew };

/// "stay", "down", "up", "too few runs".
std::string_view to_text(Direction direction);

struct RightSize {
    std::string workload;
    std::string instance;  // now
    unsigned runs = 0;
    Direction direction = Direction::kStay;
    std::string to;                    // the machine to take; empty: none is better
    double usd_per_month_saved = 0;    // negative: it costs more
    std::vector<std::string> reasons;  // with the numbers
};

/// What to change after these runs: down when all peaks stayed below half of what the machine has
/// in `least_runs` runs, up after an out-of-memory; never below the peaks with a quarter on top.
/// errors   kNotFound: a machine that is not in the table
Result<std::vector<RightSize>> right_size(const std::vector<Run>& runs, unsigned least_runs);

}  // namespace aliquot::sizing
