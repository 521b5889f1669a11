// SPDX-License-Identifier: Apache-2.0
#include "vision_worker/gpu_share.h"

#include <array>
#include <vector>

#include "abi/cuda.h"
#include "os/dynamic_library.h"

namespace aliquot::vision_worker {
namespace {

/// The entry points that are needed.
struct Driver {
    decltype(&cuInit) init = nullptr;
    decltype(&cuDeviceGet) device = nullptr;
    decltype(&cuDeviceGetName) name = nullptr;
    decltype(&cuDevicePrimaryCtxRetain) retain = nullptr;
    decltype(&cuCtxSetCurrent) set_current = nullptr;
    decltype(&cuMemGetInfo_v2) memory = nullptr;
    decltype(&cuGetErrorName) error_name = nullptr;
};

Error failed(const Driver& driver, const char* call, CUresult result) {
    const char* name = nullptr;
    if (driver.error_name(result, &name) != CUDA_SUCCESS || name == nullptr) name = "unknown";
    return {ErrorCode::kUnavailable,
            std::string("CUDA: ") + call + ": " + name + " (" + std::to_string(result) + ")"};
}

}  // namespace

Result<GpuShare> look_at_share(unsigned device) {
    auto opened = os::DynamicLibrary::open({"libcuda.so.1"});
    if (!opened) return std::move(opened).error().during("CUDA");
    static auto& kept = *new std::vector<os::DynamicLibrary>;  // its context stays
    kept.push_back(*std::move(opened));
    Driver driver;
    const char* missing = nullptr;
    const auto find = [&](auto& call, const char* name) {
        call = reinterpret_cast<std::remove_reference_t<decltype(call)>>(kept.back().symbol(name));
        if (call == nullptr) missing = name;
    };
    find(driver.init, "cuInit");
    find(driver.device, "cuDeviceGet");
    find(driver.name, "cuDeviceGetName");
    find(driver.retain, "cuDevicePrimaryCtxRetain");
    find(driver.set_current, "cuCtxSetCurrent");
    find(driver.memory, "cuMemGetInfo_v2");
    find(driver.error_name, "cuGetErrorName");
    if (missing != nullptr)
        return Error{ErrorCode::kUnsupported, std::string("CUDA: the driver has no ") + missing};
    CUdevice handle = 0;
    CUcontext context = nullptr;
    std::array<char, 128> name{};
    std::size_t free_bytes = 0;
    std::size_t total_bytes = 0;
    if (const auto result = driver.init(0)) return failed(driver, "cuInit", result);
    if (const auto result = driver.device(&handle, static_cast<int>(device)))
        return failed(driver, "cuDeviceGet", result);
    if (const auto result = driver.name(name.data(), static_cast<int>(name.size()), handle))
        return failed(driver, "cuDeviceGetName", result);
    if (const auto result = driver.retain(&context, handle))
        return failed(driver, "cuDevicePrimaryCtxRetain", result);
    if (const auto result = driver.set_current(context))
        return failed(driver, "cuCtxSetCurrent", result);
    if (const auto result = driver.memory(&free_bytes, &total_bytes))
        return failed(driver, "cuMemGetInfo", result);
    return GpuShare{.name = name.data(), .total_bytes = total_bytes, .free_bytes = free_bytes};
}

}  // namespace aliquot::vision_worker
