// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "base/result.h"

namespace aliquot::sim {

/// What aliquot-cuda-sample is asked for.
struct SampleArguments {
    std::uint64_t memory_bytes = 0;  // held beside what it computes with
    std::uint64_t kernels = 0;       // of spin_ns each, one after the other; 0: none
    std::uint64_t spin_ns = 1'000'000;
    std::uint64_t hold_seconds = 0;  // how long it stays after its line; 0: not at all
    bool hold = false;               // until a signal ends it
    bool help = false;
};

/// errors   kInvalidInput: an option it does not know, or a value that is no amount
Result<SampleArguments> read_arguments(std::span<const char* const> words);

}  // namespace aliquot::sim
