// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/result.h"

namespace aliquot::probe {

/// What is to be looked at.
struct Arguments {
    std::optional<unsigned> expect_gpus;
    std::optional<std::uint64_t> expect_memory_bytes;  // of the share; nothing: there is no limit
    bool time_slices = false;   // the share has no limit that a driver could keep
    unsigned hold_seconds = 0;  // keeps a context so long after the answer; a signal ends it
    /// In place of looking: computes for a while, and says how fast that was.
    enum class Work : std::uint8_t { kNone, kCpu, kGpu };
    Work work = Work::kNone;
    unsigned work_seconds = 2;
    bool help = false;
    bool version = false;
};

/// errors   kInvalidInput: an option it does not know, or a value that is none
Result<Arguments> read_arguments(std::span<const char* const> words);

extern const char* const kHelp;

}  // namespace aliquot::probe
