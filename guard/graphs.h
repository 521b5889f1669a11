// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "abi/cuda.h"

/// Memory that graphs allocate when they run.
namespace aliquot::guard {

/// An allocation was captured: it becomes a node of the stream's graph.
void note_captured_memory(CUstream stream, std::uint64_t bytes, unsigned place);

/// Some graph of this process allocates memory.
bool has_graph_memory();
/// Asks the driver how much graphs hold.
void settle_graph_memory();

/// In the child of a fork.
void forget_graphs();

}  // namespace aliquot::guard
