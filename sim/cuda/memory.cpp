// SPDX-License-Identifier: Apache-2.0
// Entry points that take device memory, give it back and tell about it.
#include <algorithm>
#include <limits>
#include <mutex>

#include "sim/cuda/capture.h"
#include "sim/cuda/context.h"
#include "sim/cuda/device.h"
#include "sim/cuda/driver.h"
#include "sim/cuda/physical.h"
#include "sim/cuda/pool.h"
#include "sim/cuda/ranges.h"
#include "sim/cuda/trace.h"

using namespace aliquot::sim;

namespace {

constexpr std::size_t kPitchBytes = 512;
constexpr std::uint64_t kMostNarrow = std::numeric_limits<unsigned>::max();

unsigned narrow(std::uint64_t bytes) { return static_cast<unsigned>(std::min(bytes, kMostNarrow)); }

Granted allocate(std::uint64_t bytes, Use use, bool low) {
    const Current current = current_context();
    if (!current) return {current.result, 0};
    if (const auto barred = barred_here(); barred != CUDA_SUCCESS) return {barred, 0};
    CUctx_st& context = *current.context;
    return take_memory(*context.device,
                       {.bytes = bytes, .use = use, .owner = context.id, .low = low});
}

CUresult release(CUdeviceptr address) {
    const Current current = current_context();
    if (!current) return current.result;
    if (address == 0) return CUDA_SUCCESS;
    if (const auto barred = barred_here(); barred != CUDA_SUCCESS) return barred;
    Device* const device = Driver::get().device_of(address);
    if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
    // What the device still does may need the memory.
    if (!device->queue.idle()) {
        const CUresult waited = device->queue.wait(device->queue.end());
        if (waited != CUDA_SUCCESS) return waited;
    }
    return give_memory_at(*device, address) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

struct Pitched {
    CUresult result;
    std::uint64_t address;
    std::size_t pitch;
};

Pitched allocate_pitched(std::size_t width, std::size_t height, unsigned element, bool low) {
    const bool known_size = element == 4 || element == 8 || element == 16;
    if (width == 0 || height == 0 || !known_size) return {CUDA_ERROR_INVALID_VALUE, 0, 0};
    if (width > std::numeric_limits<std::size_t>::max() - kPitchBytes) {
        return {CUDA_ERROR_INVALID_VALUE, 0, 0};
    }
    const std::size_t pitch = (width + kPitchBytes - 1) / kPitchBytes * kPitchBytes;
    if (height > std::numeric_limits<std::size_t>::max() / pitch) {
        return {CUDA_ERROR_OUT_OF_MEMORY, 0, 0};
    }
    const Granted granted = allocate(pitch * height, Use::kPlain, low);
    return {granted.result, granted.address, pitch};
}

}  // namespace

extern "C" {

CUresult cuMemAlloc_v2(CUdeviceptr* dptr, size_t bytesize) {
    called(__func__);
    if (dptr == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const Granted granted = allocate(bytesize, Use::kPlain, false);
    if (granted.result == CUDA_SUCCESS) *dptr = granted.address;
    return granted.result;
}

CUresult cuMemAlloc(CUdeviceptr_v1* dptr, unsigned int bytesize) {
    called(__func__);
    if (dptr == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const Granted granted = allocate(bytesize, Use::kPlain, true);
    if (granted.result == CUDA_SUCCESS) *dptr = static_cast<CUdeviceptr_v1>(granted.address);
    return granted.result;
}

CUresult cuMemAllocPitch_v2(CUdeviceptr* dptr, size_t* pitch, size_t width, size_t height,
                            unsigned int element) {
    called(__func__);
    if (dptr == nullptr || pitch == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const Pitched made = allocate_pitched(width, height, element, false);
    if (made.result != CUDA_SUCCESS) return made.result;
    *dptr = made.address;
    *pitch = made.pitch;
    return CUDA_SUCCESS;
}

CUresult cuMemAllocPitch(CUdeviceptr_v1* dptr, unsigned int* pitch, unsigned int width,
                         unsigned int height, unsigned int element) {
    called(__func__);
    if (dptr == nullptr || pitch == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const Pitched made = allocate_pitched(width, height, element, true);
    if (made.result != CUDA_SUCCESS) return made.result;
    *dptr = static_cast<CUdeviceptr_v1>(made.address);
    *pitch = static_cast<unsigned>(made.pitch);
    return CUDA_SUCCESS;
}

CUresult cuMemAllocManaged(CUdeviceptr* dptr, size_t bytesize, unsigned int flags) {
    called(__func__);
    const bool known = flags == CU_MEM_ATTACH_GLOBAL || flags == CU_MEM_ATTACH_HOST;
    if (dptr == nullptr || !known) return CUDA_ERROR_INVALID_VALUE;
    const Granted granted = allocate(bytesize, Use::kManaged, false);
    if (granted.result != CUDA_SUCCESS) return granted.result;
    // The host may write there from now on without telling us.
    Device& device = *Driver::get().device_of(granted.address);
    (void)touch(device, granted.address, bytesize);
    *dptr = granted.address;
    return CUDA_SUCCESS;
}

CUresult cuMemFree_v2(CUdeviceptr dptr) {
    called(__func__);
    return release(dptr);
}

CUresult cuMemFree(CUdeviceptr_v1 dptr) {
    called(__func__);
    return release(dptr);
}

CUresult cuMemGetInfo_v2(size_t* free, size_t* total) {
    called(__func__);
    const Current current = current_context();
    if (!current) return current.result;
    if (has_exported_only()) {
        const std::lock_guard lock(physical_mutex());
        drop_closed();
    }
    Account& account = current.context->device->account;
    if (free != nullptr) *free = account.free_bytes();
    if (total != nullptr) *total = account.total_bytes();
    return CUDA_SUCCESS;
}

CUresult cuMemGetInfo(unsigned int* free, unsigned int* total) {
    called(__func__);
    const Current current = current_context();
    if (!current) return current.result;
    Account& account = current.context->device->account;
    if (free != nullptr) *free = narrow(account.free_bytes());
    if (total != nullptr) *total = narrow(account.total_bytes());
    return CUDA_SUCCESS;
}

CUresult cuDeviceTotalMem_v2(size_t* bytes, CUdevice ordinal) {
    called(__func__);
    if (const auto result = needs_init(); result != CUDA_SUCCESS) return result;
    if (bytes == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const Device* const device = Driver::get().device(ordinal);
    if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
    *bytes = device->account.total_bytes();
    return CUDA_SUCCESS;
}

CUresult cuDeviceTotalMem(unsigned int* bytes, CUdevice ordinal) {
    called(__func__);
    if (bytes == nullptr) return CUDA_ERROR_INVALID_VALUE;
    size_t wide = 0;
    const CUresult result = cuDeviceTotalMem_v2(&wide, ordinal);
    if (result == CUDA_SUCCESS) *bytes = narrow(wide);
    return result;
}

CUresult cuMemGetAddressRange_v2(CUdeviceptr* base, size_t* bytes, CUdeviceptr address) {
    called(__func__);
    const Current current = current_context();
    if (!current) return current.result;
    std::uint64_t start = 0;
    std::uint64_t size = 0;
    if (Device* const device = Driver::get().device_of(address); device != nullptr) {
        const auto found = find_allocation(*device, address);
        if (!found || found->use == Use::kArray) return CUDA_ERROR_NOT_FOUND;
        start = found->address;
        size = found->bytes;
    } else {
        const auto range = find_range(address);
        if (!range) return CUDA_ERROR_NOT_FOUND;
        start = range->address;
        size = range->bytes;
    }
    if (base != nullptr) *base = start;
    if (bytes != nullptr) *bytes = size;
    return CUDA_SUCCESS;
}

CUresult cuMemGetAddressRange(CUdeviceptr_v1* base, unsigned int* bytes, CUdeviceptr_v1 address) {
    called(__func__);
    CUdeviceptr start = 0;
    size_t size = 0;
    const CUresult result = cuMemGetAddressRange_v2(&start, &size, address);
    if (result != CUDA_SUCCESS) return result;
    if (base != nullptr) *base = static_cast<CUdeviceptr_v1>(start);
    if (bytes != nullptr) *bytes = narrow(size);
    return CUDA_SUCCESS;
}

}  // extern "C"
