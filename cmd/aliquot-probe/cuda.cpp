// SPDX-License-Identifier: Apache-2.0
#include "cmd/aliquot-probe/cuda.h"

#include <dlfcn.h>

namespace aliquot::probe {
namespace {

/// Why the library could not be loaded, in the words of the one who can fix it.
Error not_loaded() {
    const char* const said = ::dlerror();  // NOLINT(concurrency-mt-unsafe): one thread
    const std::string why = said == nullptr ? "" : said;
    if (why.find("cannot open shared object file") != std::string::npos) {
        return {ErrorCode::kNotFound,
                "there is no libcuda.so.1 here: the container runtime did not add the driver "
                "(the pod asked for no GPU, its runtime is not NVIDIA's, or the node has no CDI)"};
    }
    return {ErrorCode::kUnsupported, "libcuda.so.1 cannot be loaded: " + why};
}

}  // namespace

Result<Cuda> Cuda::find() {
    void* const library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return not_loaded();
    Cuda cuda;
    const char* missing = nullptr;
    const auto look = [&](auto& call, const char* name) {
        call = reinterpret_cast<std::remove_reference_t<decltype(call)>>(::dlsym(library, name));
        return call != nullptr;
    };
    const auto need = [&](auto& call, const char* name) {
        if (!look(call, name)) missing = name;
    };
    need(cuda.init, "cuInit");
    need(cuda.driver_version, "cuDriverGetVersion");
    need(cuda.device_count, "cuDeviceGetCount");
    need(cuda.device, "cuDeviceGet");
    need(cuda.device_name, "cuDeviceGetName");
    need(cuda.total_memory, "cuDeviceTotalMem_v2");
    need(cuda.retain, "cuDevicePrimaryCtxRetain");
    need(cuda.set_current, "cuCtxSetCurrent");
    need(cuda.synchronize, "cuCtxSynchronize");
    need(cuda.allocate, "cuMemAlloc_v2");
    need(cuda.free, "cuMemFree_v2");
    need(cuda.to_device, "cuMemcpyHtoD_v2");
    need(cuda.to_host, "cuMemcpyDtoH_v2");
    need(cuda.load, "cuModuleLoadData");
    need(cuda.unload, "cuModuleUnload");
    need(cuda.function, "cuModuleGetFunction");
    need(cuda.launch, "cuLaunchKernel");
    (void)look(cuda.error_name, "cuGetErrorName");
    (void)look(cuda.release, "cuDevicePrimaryCtxRelease_v2");
    cuda.mig_uuids = look(cuda.device_uuid, "cuDeviceGetUuid_v2");
    if (!cuda.mig_uuids) need(cuda.device_uuid, "cuDeviceGetUuid");
    if (missing == nullptr) return cuda;
    return Error{ErrorCode::kUnsupported, std::string("the driver is too old: its libcuda.so.1 has "
                                                      "no ") +
                                              missing + "; 410 or newer is needed"};
}

Error Cuda::error(const char* call, CUresult result) const {
    const char* name = nullptr;
    if (error_name == nullptr || error_name(result, &name) != CUDA_SUCCESS || name == nullptr) {
        name = "an error without a name";
    }
    return {ErrorCode::kUnavailable,
            std::string(call) + ": " + name + " (" + std::to_string(result) + ")"};
}

}  // namespace aliquot::probe
