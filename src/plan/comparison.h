// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plan/known_work.h"

/// The same work on the CPU, on a whole GPU and on shares of it, judged. Pure.
namespace aliquot::plan {

/// What was measured: seconds of each run. `shared` has those of every one of the `sharers`.
struct Measured {
    std::vector<double> cpu;  // empty: not run
    std::vector<double> gpu;
    std::vector<double> share_alone;  // one share, the others idle
    std::vector<double> shared;       // all shares at work
    unsigned sharers = 2;
    bool used_gpu = true;  // the guard saw work on the GPU
};

struct TimeSummary {
    double median = 0;
    double least = 0;
    double most = 0;
};

enum class Verdict : std::uint8_t {
    kShare,    // sharing pays
    kOwnGpu,   // the GPU pays, that many shares of it do not
    kCpu,      // the GPU is not faster
    kNotSure,  // the runs differ too much to tell
    kUnused,   // the program did nothing on the GPU
};
/// "share", "own-gpu", "cpu", "not-sure", "gpu-unused"
std::string_view to_text(Verdict verdict);

struct Comparison {
    std::optional<TimeSummary> cpu;
    TimeSummary gpu;
    TimeSummary share_alone;
    TimeSummary shared;
    /// Times as fast as the CPU; nothing without it.
    std::optional<double> speedup_gpu;
    std::optional<double> speedup_share_alone;
    std::optional<double> speedup_shared;
    std::optional<double> expected_shared;  // s / n: without overhead
    double part_alone = 0;   // of the whole GPU's speed: a share while the others are idle
    double part_shared = 0;  // a share while all work; 1 / n is expected
    double overhead = 0;     // 1 - n x part_shared; below 0: together they do more than one alone
    Verdict verdict = Verdict::kNotSure;
    std::string sentence;              // the verdict in words
    std::vector<std::string> reasons;  // a line each, against what is expected
};

/// measured   at least one run of each but the CPU, all times above 0
/// known      what the work is expected to be; nullptr: not told
Comparison compare(const Measured& measured, const KnownWork* known);

/// Median, least and most. seconds  not empty
TimeSummary summary_of(std::vector<double> seconds);

}  // namespace aliquot::plan
