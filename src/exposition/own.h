// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "gpu/inventory.h"

namespace aliquot::exposition {

/// What the agent knows of itself. What is not known is not told.
struct Own {
    std::optional<std::uint64_t> resident_bytes;
    std::optional<std::uint64_t> virtual_bytes;
    std::optional<std::uint64_t> cpu_ns;  // user and system time
    std::optional<std::uint64_t> open_files;
    std::optional<gpu::Moment> started;
    std::optional<std::uint64_t> scrapes;       // counter
    std::optional<std::uint64_t> scrape_bytes;  // of the last answer, before compression
    std::optional<std::uint64_t> scrape_ns;     // that writing the last answer took
};

/// The process's part of it, from its own /proc; a few system calls. Scrapes are the caller's.
Own read_own();

}  // namespace aliquot::exposition
