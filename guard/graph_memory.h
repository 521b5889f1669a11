// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "abi/cuda.h"
#include "abi/region.h"

/// The books behind guard/graphs.h, for the entry points that make graphs.
namespace aliquot::guard {

/// Bytes that the memory nodes of a graph want, by place of their device.
struct GraphDemand {
    std::uint64_t bytes[abi::kRegionDevices];
};

/// A memory node was added to `graph`, seen by its entry point. Counts where the driver does not tell
/// the nodes of a graph.
void note_graph_node(CUgraph graph, std::uint64_t bytes, const CUmemLocation& location);
/// `graph` has what `other` has, too: a child, or a copy.
void note_graph_part(CUgraph graph, CUgraph other);
/// What was captured in `stream` belongs to `graph` now; nullptr: to none.
void end_captured_memory(CUstream stream, CUgraph graph);
void forget_graph(CUgraph graph);

GraphDemand demand_of(CUgraph graph);

/// An executable graph is to be made, or given other content. `backed`: its memory is taken at once.
/// returns  false: over the limit
bool begin_exec(const GraphDemand& demand, bool backed);
/// It was, or was not.
void end_exec(CUgraphExec exec, const GraphDemand& demand, bool backed, bool success);
/// It is to be destroyed: taken out of the books before the driver is asked, since it may give the
/// same handle to another thread at once. end_exec() puts it back.
GraphDemand take_exec(CUgraphExec exec);
/// The program had unused memory of graphs trimmed.
void note_graph_trim();

}  // namespace aliquot::guard
