// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "sim/cuda/device.h"
#include "sim/cuda/graph.h"

namespace aliquot::sim {

struct Instantiated {
    CUresult result;
    CUgraphExec_st* exec;
};
Instantiated instantiate(const CUgraph_st& graph, std::uint64_t flags);

/// Puts all steps into a stream. CUDA_ERROR_OUT_OF_MEMORY: its allocations cannot be paid for.
CUresult launch_graph(CUgraphExec_st& exec, CUstream_st& stream);
/// Pays for its allocations before it runs.
CUresult upload_graph(CUgraphExec_st& exec);
void destroy_exec(CUgraphExec_st& exec);
/// Gives back what its allocations do not use now.
void trim_exec(CUgraphExec_st& exec);
/// cuDeviceGraphMemTrim.
void trim_graph_memory(Device& device);

}  // namespace aliquot::sim
