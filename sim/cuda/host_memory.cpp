// SPDX-License-Identifier: Apache-2.0
// Entry points about host memory whose pages stay where they are.
#include <sys/mman.h>
#include <unistd.h>

#include "sim/cuda/context.h"
#include "sim/cuda/device.h"
#include "sim/cuda/driver.h"
#include "sim/cuda/ranges.h"
#include "sim/cuda/trace.h"

using namespace aliquot::sim;

namespace {

constexpr unsigned kAllocFlags = 7;      // portable, mapped, write-combined
constexpr unsigned kRegisterFlags = 15;  // portable, mapped, of a device, read-only

std::uint64_t rounded_up(std::uint64_t bytes) {
    const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    return (bytes + page - 1) / page * page;
}

CUresult allocate(void** memory, std::size_t bytes, unsigned flags) {
    const Current current = current_context();
    if (!current) return current.result;
    if (memory == nullptr || bytes == 0 || (flags & ~kAllocFlags) != 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    const std::uint64_t span = rounded_up(bytes);
    if (span < bytes) return CUDA_ERROR_OUT_OF_MEMORY;
    void* const pages =
        ::mmap(nullptr, span, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
    (void)add_range({.address = reinterpret_cast<std::uint64_t>(pages),
                     .bytes = bytes,
                     .kind = RangeKind::kHost,
                     .flags = flags,
                     .context = current.context,
                     .device = current.context->device->ordinal,
                     .pages = pages,
                     .pages_bytes = span});
    *memory = pages;
    return CUDA_SUCCESS;
}

CUresult enlist(void* memory, std::size_t bytes, unsigned flags) {
    const Current current = current_context();
    if (!current) return current.result;
    if (memory == nullptr || bytes == 0 || (flags & ~kRegisterFlags) != 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    const bool added = add_range({.address = reinterpret_cast<std::uint64_t>(memory),
                                  .bytes = bytes,
                                  .kind = RangeKind::kRegistered,
                                  .flags = flags,
                                  .context = current.context,
                                  .device = current.context->device->ordinal});
    return added ? CUDA_SUCCESS : CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
}

CUresult device_pointer(CUdeviceptr* dptr, void* memory, unsigned flags) {
    const Current current = current_context();
    if (!current) return current.result;
    if (dptr == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
    const auto address = reinterpret_cast<std::uint64_t>(memory);
    const auto range = find_range(address);
    if (!range || (range->kind != RangeKind::kHost && range->kind != RangeKind::kRegistered)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *dptr = address;
    return CUDA_SUCCESS;
}

}  // namespace

extern "C" {

CUresult cuMemHostAlloc(void** memory, size_t bytesize, unsigned int flags) {
    called(__func__);
    return allocate(memory, bytesize, flags);
}

CUresult cuMemAllocHost_v2(void** memory, size_t bytesize) {
    called(__func__);
    return allocate(memory, bytesize, 0);
}

CUresult cuMemAllocHost(void** memory, unsigned int bytesize) {
    called(__func__);
    return allocate(memory, bytesize, 0);
}

CUresult cuMemFreeHost(void* memory) {
    called(__func__);
    const Current current = current_context();
    if (!current) return current.result;
    Queue& queue = current.context->device->queue;
    if (const auto waited = queue.wait(queue.end()); waited != CUDA_SUCCESS) return waited;
    const auto range = remove_range(reinterpret_cast<std::uint64_t>(memory), RangeKind::kHost);
    if (!range) return CUDA_ERROR_INVALID_VALUE;
    ::munmap(range->pages, range->pages_bytes);
    return CUDA_SUCCESS;
}

CUresult cuMemHostRegister_v2(void* memory, size_t bytesize, unsigned int flags) {
    called(__func__);
    return enlist(memory, bytesize, flags);
}

CUresult cuMemHostRegister(void* memory, size_t bytesize, unsigned int flags) {
    called(__func__);
    return enlist(memory, bytesize, flags);
}

CUresult cuMemHostUnregister(void* memory) {
    called(__func__);
    const Current current = current_context();
    if (!current) return current.result;
    Queue& queue = current.context->device->queue;
    if (const auto waited = queue.wait(queue.end()); waited != CUDA_SUCCESS) return waited;
    const auto address = reinterpret_cast<std::uint64_t>(memory);
    return remove_range(address, RangeKind::kRegistered) ? CUDA_SUCCESS
                                                         : CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
}

CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr* dptr, void* memory, unsigned int flags) {
    called(__func__);
    return device_pointer(dptr, memory, flags);
}

CUresult cuMemHostGetFlags(unsigned int* flags, void* memory) {
    called(__func__);
    const Current current = current_context();
    if (!current) return current.result;
    if (flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const auto range = find_range(reinterpret_cast<std::uint64_t>(memory));
    if (!range || range->kind != RangeKind::kHost) return CUDA_ERROR_INVALID_VALUE;
    *flags = range->flags;
    return CUDA_SUCCESS;
}

}  // extern "C"
