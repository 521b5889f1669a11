// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "abi/cuda.h"
#include "sim/cuda/copy.h"
#include "sim/cuda/kernel.h"

namespace aliquot::sim {

/// A kernel node's launch, from what the program says of it.
struct Described {
    CUresult result;
    Launch launch;
};
Described describe_kernel(const CUDA_KERNEL_NODE_PARAMS& parameters);
CUDA_KERNEL_NODE_PARAMS widened(const CUDA_KERNEL_NODE_PARAMS_v1& parameters);
Pattern pattern_of(const CUDA_MEMSET_NODE_PARAMS& parameters);

}  // namespace aliquot::sim
