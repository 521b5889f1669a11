// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "abi/cuda.h"

/// Memory that graphs allocate when they run or are uploaded. What an executable graph wants is read
/// from its graph's nodes when it is made, however they came there: added, captured, cloned, moved
/// in with a child graph. What graphs hold is the driver's to say.
namespace aliquot::guard {

/// An allocation was captured: it becomes a node of the stream's graph.
void note_captured_memory(CUstream stream, std::uint64_t bytes, unsigned place);

/// Some graph of this process allocates memory.
bool has_graph_memory();
/// Bytes charged for graphs on a device.
std::uint64_t graph_memory_of(unsigned place);
/// Asks the driver how much graphs hold.
void settle_graph_memory();
/// No context is left on the device, and so no memory of graphs.
void drop_graph_memory(unsigned place);

/// Before and after a graph is launched or uploaded: its memory nodes allocate then.
/// returns  false: over the limit
bool begin_graph(CUgraphExec exec);
void end_graph(CUgraphExec exec, bool success);

/// In the child of a fork.
void forget_graphs();

}  // namespace aliquot::guard
