// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "abi/cuda.h"
#include "base/result.h"

namespace aliquot::sim {

/// The entry points that the sample calls, found as the CUDA runtime finds them: one symbol of
/// libcuda.so.1, and by it all others.
struct CudaCalls {
    decltype(&cuInit) init = nullptr;
    decltype(&cuDeviceGetName) device_name = nullptr;
    decltype(&cuDevicePrimaryCtxRetain) retain = nullptr;
    decltype(&cuCtxSetCurrent) set_current = nullptr;
    decltype(&cuMemGetInfo_v2) memory_info = nullptr;
    decltype(&cuMemAlloc_v2) allocate = nullptr;
    decltype(&cuMemFree_v2) free = nullptr;
    decltype(&cuMemcpyHtoD_v2) to_device = nullptr;
    decltype(&cuMemcpyDtoH_v2) to_host = nullptr;
    decltype(&cuModuleLoadData) load = nullptr;
    decltype(&cuModuleGetFunction) function = nullptr;
    decltype(&cuLaunchKernel) launch = nullptr;
    decltype(&cuCtxSynchronize) synchronize = nullptr;
    decltype(&cuGetErrorName) error_name = nullptr;

    /// errors   kNotFound: there is no libcuda.so.1; kUnsupported: it lacks one of the entry points
    static Result<CudaCalls> find();

    /// "cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY"
    [[nodiscard]] Error error(const char* call, CUresult result) const;
};

}  // namespace aliquot::sim
