// SPDX-License-Identifier: Apache-2.0
#include "sim/cuda_sample/cuda_calls.h"

#include <dlfcn.h>

namespace aliquot::sim {

Result<CudaCalls> CudaCalls::find() {
    constexpr int kVersion = 12000;
    void* const library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        const char* const why = ::dlerror();  // NOLINT(concurrency-mt-unsafe)
        return Error{ErrorCode::kNotFound, why == nullptr ? "libcuda.so.1: not found" : why};
    }
    auto* const get =
        reinterpret_cast<decltype(&cuGetProcAddress_v2)>(::dlsym(library, "cuGetProcAddress_v2"));
    if (get == nullptr) {
        return Error{ErrorCode::kUnsupported, "libcuda.so.1 is older than CUDA 12.0"};
    }
    CudaCalls calls;
    const char* missing = nullptr;
    const auto find_one = [&](auto& call, const char* name) {
        void* pointer = nullptr;
        if (get(name, &pointer, kVersion, 0, nullptr) != CUDA_SUCCESS || pointer == nullptr) {
            missing = name;
        }
        call = reinterpret_cast<std::remove_reference_t<decltype(call)>>(pointer);
    };
    find_one(calls.init, "cuInit");
    find_one(calls.device_name, "cuDeviceGetName");
    find_one(calls.retain, "cuDevicePrimaryCtxRetain");
    find_one(calls.set_current, "cuCtxSetCurrent");
    find_one(calls.memory_info, "cuMemGetInfo");
    find_one(calls.allocate, "cuMemAlloc");
    find_one(calls.free, "cuMemFree");
    find_one(calls.to_device, "cuMemcpyHtoD");
    find_one(calls.to_host, "cuMemcpyDtoH");
    find_one(calls.load, "cuModuleLoadData");
    find_one(calls.function, "cuModuleGetFunction");
    find_one(calls.launch, "cuLaunchKernel");
    find_one(calls.synchronize, "cuCtxSynchronize");
    find_one(calls.error_name, "cuGetErrorName");
    if (missing == nullptr) return calls;
    return Error{ErrorCode::kUnsupported, std::string("libcuda.so.1 has no ") + missing};
}

Error CudaCalls::error(const char* call, CUresult result) const {
    const char* name = nullptr;
    if (error_name(result, &name) != CUDA_SUCCESS || name == nullptr) name = "unknown result";
    return {result == CUDA_ERROR_OUT_OF_MEMORY ? ErrorCode::kConflict : ErrorCode::kUnavailable,
            std::string(call) + ": " + name + " (" + std::to_string(result) + ")"};
}

}  // namespace aliquot::sim
