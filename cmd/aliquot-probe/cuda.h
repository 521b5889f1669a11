// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <type_traits>

#include "abi/cuda.h"
#include "base/result.h"

namespace aliquot::probe {

/// The driver's functions that we call, found at run time: this program starts without a driver.
struct Cuda {
    decltype(&cuInit) init = nullptr;
    decltype(&cuDriverGetVersion) driver_version = nullptr;
    decltype(&cuDeviceGetCount) device_count = nullptr;
    decltype(&cuDeviceGet) device = nullptr;
    decltype(&cuDeviceGetName) device_name = nullptr;
    decltype(&cuDeviceGetUuid) device_uuid = nullptr;
    decltype(&cuDeviceTotalMem_v2) total_memory = nullptr;
    decltype(&cuDevicePrimaryCtxRetain) retain = nullptr;
    decltype(&cuDevicePrimaryCtxRelease_v2) release = nullptr;  // may be missing
    decltype(&cuCtxSetCurrent) set_current = nullptr;
    decltype(&cuCtxSynchronize) synchronize = nullptr;
    decltype(&cuMemAlloc_v2) allocate = nullptr;
    decltype(&cuMemFree_v2) free = nullptr;
    decltype(&cuMemcpyHtoD_v2) to_device = nullptr;
    decltype(&cuMemcpyDtoH_v2) to_host = nullptr;
    decltype(&cuModuleLoadData) load = nullptr;
    decltype(&cuModuleUnload) unload = nullptr;
    decltype(&cuModuleGetFunction) function = nullptr;
    decltype(&cuLaunchKernel) launch = nullptr;
    decltype(&cuGetErrorName) error_name = nullptr;  // may be missing
    bool mig_uuids = false;  // device_uuid is the one that tells MIG devices

    /// errors   kNotFound: no libcuda.so.1; kUnsupported: too old
    static Result<Cuda> find();

    /// "cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY (2)"
    [[nodiscard]] Error error(const char* call, CUresult result) const;
};

}  // namespace aliquot::probe
