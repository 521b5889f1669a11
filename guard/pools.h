// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "abi/cuda.h"

/// Stream-ordered memory. A pool keeps what is freed, so not pointers are charged but what the pool
/// holds of the device; that is known only by asking the driver now and then.
namespace aliquot::guard {

/// A pointer of a pool was freed; the memory stays with the pool until the driver gives it up.
void give_back_to_pool(std::uint32_t pool, std::uint64_t bytes);

/// Asks the driver what each pool, and the memory of graphs, really holds.
void settle_pools();
/// Something was freed since, so they may hold less.
bool has_changed_pools();
/// Both together: before anybody is told how much is free.
inline void settle_pools_if_changed() {
    if (has_changed_pools()) settle_pools();
}
/// The program has waited for the device: a good moment, at most each 10 ms.
void note_synchronised();

/// Before and after a graph is launched: its memory nodes allocate when it runs.
/// returns  false: over the limit
bool begin_graph(CUgraphExec exec);
void end_graph(CUgraphExec exec);

/// In the child of a fork.
void forget_pools();

}  // namespace aliquot::guard
