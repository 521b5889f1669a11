// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"

/// Runs of a program that are timed.
namespace aliquot::cli {

/// One process of a run.
struct BenchProcess {
    std::vector<std::string> argv;
    std::map<std::string, std::string> environment;
};

struct BenchTiming {
    double wall_seconds = 0;
    double own_seconds = 0;  // of its line ALIQUOT_BENCH_SECONDS=1.5; 0: it printed none
    [[nodiscard]] double seconds() const { return own_seconds > 0 ? own_seconds : wall_seconds; }
};

/// Starts all of them at the same time, and waits for all. What they print is read and forgotten but for
/// its end. When one fails, the others are waited for.
/// limit    for each; then it is killed with its group
/// errors   of the first that failed, with the end of what it printed: kUnavailable: exit code, signal, or
///          too long; kNotFound, kPermission: it cannot be started
Result<std::vector<BenchTiming>> run_together(const std::vector<BenchProcess>& processes,
                                              std::chrono::seconds limit);

}  // namespace aliquot::cli
