// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "abi/region.h"

/// The page that the containers of a node share, opened by this process.
namespace aliquot::guard {

/// Maps it and takes an entry for this process; the same answer for every later call. nullptr: it
/// cannot be had.
abi::NodePage* open_node_page(const char* path, std::uint64_t region, unsigned& process);

/// Whether a process of the container still lives. Some system calls.
bool is_region_alive(abi::NodePage& page, std::uint64_t region);

/// A lock of the page, by process entries. Waits at most a millisecond where its holder lives.
/// returns  false: not given up in time
bool lock_page(std::atomic<std::uint32_t>& word, unsigned process);
void unlock_page(std::atomic<std::uint32_t>& word, unsigned process);

void forget_node_page();

}  // namespace aliquot::guard
