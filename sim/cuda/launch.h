// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/cuda/kernel.h"
#include "sim/cuda/stream.h"

namespace aliquot::sim {

/// Puts a kernel into a stream that does not capture.
void run_kernel(CUstream_st& stream, Launch launch);

}  // namespace aliquot::sim
