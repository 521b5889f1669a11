// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string>
#include <string_view>

/// Kinds of work whose speed on a CPU and on an A2 alone is known.
namespace aliquot::plan {

struct KnownWork {
    std::array<std::string_view, 4> words;  // parts of a workload's name
    std::string_view work;                  // "10 s of speech made"
    double cpu_from = 0;                    // seconds
    double cpu_to = 0;
    double gpu_from = 0;
    double gpu_to = 0;
};

/// How many times as fast the A2 is, of each of them.
inline constexpr double kKnownSpeedup = 5;

/// The kind that a name speaks of ("whisper-large"); nullptr: none.
const KnownWork* known_work(std::string_view name);

}  // namespace aliquot::plan
