// SPDX-License-Identifier: Apache-2.0
// Entry points by which a program manages addresses and physical memory itself.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <vector>

#include "sim/cuda/context.h"
#include "sim/cuda/device.h"
#include "sim/cuda/driver.h"
#include "sim/cuda/objects.h"
#include "sim/cuda/physical.h"
#include "sim/cuda/ranges.h"
#include "sim/cuda/trace.h"

using namespace aliquot::sim;

namespace {

/// Reserved addresses by their beginning: size.
std::map<std::uint64_t, std::uint64_t>& reservations() {
    return immortal<std::map<std::uint64_t, std::uint64_t>>();
}

bool reserved(std::uint64_t address, std::uint64_t bytes) {
    auto found = reservations().upper_bound(address);
    if (found == reservations().begin()) return false;
    --found;
    return address - found->first <= found->second &&
           bytes <= found->second - (address - found->first);
}

bool whole_blocks(std::uint64_t bytes) { return bytes > 0 && bytes % kBlockBytes == 0; }

struct Payer {
    CUresult result;
    Device* device;  // nullptr: nobody pays
};

/// Who pays for memory of these properties.
Payer payer_of(const CUmemAllocationProp& props) {
    if (props.type != CU_MEM_ALLOCATION_TYPE_PINNED) return {CUDA_ERROR_INVALID_VALUE, nullptr};
    constexpr int kKnownHandles = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    if ((props.requestedHandleTypes & ~kKnownHandles) != 0) {
        return {CUDA_ERROR_NOT_SUPPORTED, nullptr};
    }
    switch (props.location.type) {
        case CU_MEM_LOCATION_TYPE_DEVICE: {
            Device* const device = Driver::get().device(props.location.id);
            return {device == nullptr ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS, device};
        }
        case CU_MEM_LOCATION_TYPE_HOST:
        case CU_MEM_LOCATION_TYPE_HOST_NUMA:
        case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT:
            return {CUDA_SUCCESS, nullptr};
        default:
            return {CUDA_ERROR_INVALID_VALUE, nullptr};
    }
}

CUresult map(std::uint64_t address, std::uint64_t bytes, std::uint64_t offset,
             CUmemGenericAllocationHandle handle) {
    const std::lock_guard lock(physical_mutex());
    Physical* const physical = physical_of(handle);
    const bool plausible = physical != nullptr && offset == 0 && whole_blocks(bytes) &&
                           address % kBlockBytes == 0 && bytes <= physical->bytes;
    if (!plausible || !reserved(address, bytes)) return CUDA_ERROR_INVALID_VALUE;
    if (physical->multicast) return CUDA_ERROR_NOT_SUPPORTED;
    const int file = file_of(*physical);
    if (file < 0) return CUDA_ERROR_OUT_OF_MEMORY;
    const int ordinal = physical->props.location.type == CU_MEM_LOCATION_TYPE_DEVICE
                            ? physical->props.location.id
                            : -1;
    const bool added = add_range({.address = address,
                                  .bytes = bytes,
                                  .kind = RangeKind::kMapping,
                                  .context = thread_state.current,
                                  .device = ordinal,
                                  .handle = handle,
                                  .accessible = false});
    if (!added) return CUDA_ERROR_INVALID_VALUE;  // something is mapped there
    void* const pages = ::mmap(reinterpret_cast<void*>(address), bytes, PROT_READ | PROT_WRITE,
                               MAP_SHARED | MAP_FIXED, file, 0);
    if (pages == MAP_FAILED) {
        (void)remove_range(address, RangeKind::kMapping);
        return CUDA_ERROR_MAP_FAILED;
    }
    ++physical->mappings;
    return CUDA_SUCCESS;
}

/// The mappings that fill a range exactly; empty: they do not.
std::vector<Range> mappings_in(std::uint64_t address, std::uint64_t bytes) {
    std::vector<Range> found;
    for (std::uint64_t at = address; at < address + bytes;) {
        const auto range = find_range(at);
        const bool fits = range && range->kind == RangeKind::kMapping && range->address == at &&
                          range->bytes <= address + bytes - at;
        if (!fits) return {};
        found.push_back(*range);
        at += range->bytes;
    }
    return found;
}

CUresult unmap(std::uint64_t address, std::uint64_t bytes) {
    Driver& driver = Driver::get();
    for (int i = 0; i < static_cast<int>(driver.device_count()); ++i) {
        Queue& queue = driver.device(i)->queue;
        if (queue.idle()) continue;
        if (const auto waited = queue.wait(queue.end()); waited != CUDA_SUCCESS) return waited;
    }
    const std::lock_guard lock(physical_mutex());
    const auto found = mappings_in(address, bytes);
    if (found.empty()) return CUDA_ERROR_INVALID_VALUE;
    ::mmap(reinterpret_cast<void*>(address), bytes, PROT_NONE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    for (const Range& range : found) {
        (void)remove_range(range.address, RangeKind::kMapping);
        if (Physical* const physical = physical_of(range.handle)) drop_mapping(*physical);
    }
    return CUDA_SUCCESS;
}

CUresult export_to_file(void* out, CUmemGenericAllocationHandle handle, int type) {
    if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return CUDA_ERROR_NOT_SUPPORTED;
    const std::lock_guard lock(physical_mutex());
    Physical* const physical = physical_of(handle);
    if (physical == nullptr || out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if ((physical->props.requestedHandleTypes & type) == 0) return CUDA_ERROR_INVALID_VALUE;
    const int file = file_of(*physical);
    if (file < 0) return CUDA_ERROR_OUT_OF_MEMORY;
    const int exported = ::fcntl(file, F_DUPFD_CLOEXEC, 0);
    if (exported < 0) return CUDA_ERROR_OPERATING_SYSTEM;
    *static_cast<int*>(out) = exported;
    note_export(*physical);
    return CUDA_SUCCESS;
}

}  // namespace

extern "C" {

CUresult cuMemGetAllocationGranularity(size_t* granularity, const CUmemAllocationProp* prop, int) {
    called(__func__);
    if (const auto result = needs_init(); result != CUDA_SUCCESS) return result;
    if (granularity == nullptr || prop == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const Payer payer = payer_of(*prop);
    if (payer.result != CUDA_SUCCESS) return payer.result;
    *granularity = kBlockBytes;
    return CUDA_SUCCESS;
}

CUresult cuMemAddressReserve(CUdeviceptr* ptr, size_t size, size_t alignment, CUdeviceptr hint,
                             unsigned long long flags) {
    called(__func__);
    if (const auto result = needs_init(); result != CUDA_SUCCESS) return result;
    const bool power = (alignment & (alignment - 1)) == 0;
    if (ptr == nullptr || !whole_blocks(size) || !power || flags != 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    const std::uint64_t unit = std::max<std::uint64_t>(alignment, kBlockBytes);
    void* const pages = ::mmap(reinterpret_cast<void*>(hint), size + unit, PROT_NONE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (pages == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
    const auto start = reinterpret_cast<std::uint64_t>(pages);
    const std::uint64_t aligned = (start + unit - 1) / unit * unit;
    if (aligned > start) ::munmap(pages, aligned - start);
    const std::uint64_t rest = start + unit - aligned;
    if (rest > 0) ::munmap(reinterpret_cast<void*>(aligned + size), rest);
    const std::lock_guard lock(physical_mutex());
    reservations()[aligned] = size;
    *ptr = aligned;
    return CUDA_SUCCESS;
}

CUresult cuMemAddressFree(CUdeviceptr ptr, size_t size) {
    called(__func__);
    if (const auto result = needs_init(); result != CUDA_SUCCESS) return result;
    const std::lock_guard lock(physical_mutex());
    const auto found = reservations().find(ptr);
    if (found == reservations().end() || found->second != size) return CUDA_ERROR_INVALID_VALUE;
    for (std::uint64_t at = ptr; at < ptr + size; at += kBlockBytes) {
        if (find_range(at)) return CUDA_ERROR_INVALID_VALUE;  // something is still mapped
    }
    ::munmap(reinterpret_cast<void*>(ptr), size);
    reservations().erase(found);
    return CUDA_SUCCESS;
}

CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, size_t size,
                     const CUmemAllocationProp* prop, unsigned long long flags) {
    called(__func__);
    if (const auto result = needs_init(); result != CUDA_SUCCESS) return result;
    if (handle == nullptr || prop == nullptr || flags != 0 || !whole_blocks(size)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    const Payer payer = payer_of(*prop);
    if (payer.result != CUDA_SUCCESS) return payer.result;
    // Without a context the device keeps no memory of this process.
    if (payer.device != nullptr && payer.device->contexts == 0) return CUDA_ERROR_INVALID_CONTEXT;
    const std::lock_guard lock(physical_mutex());
    drop_closed();
    const PhysicalMade made = make_physical(*prop, size, payer.device);
    if (made.result == CUDA_SUCCESS) *handle = handle_of(*made.physical);
    return made.result;
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
    called(__func__);
    if (const auto result = needs_init(); result != CUDA_SUCCESS) return result;
    const std::lock_guard lock(physical_mutex());
    Physical* const physical = physical_of(handle);
    if (physical == nullptr || physical->handles == 0) return CUDA_ERROR_INVALID_VALUE;
    drop_handle(*physical);
    return CUDA_SUCCESS;
}

CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle* handle, void* addr) {
    called(__func__);
    if (const auto result = needs_init(); result != CUDA_SUCCESS) return result;
    if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const std::lock_guard lock(physical_mutex());
    const auto range = find_range(reinterpret_cast<std::uint64_t>(addr));
    if (!range || range->kind != RangeKind::kMapping) return CUDA_ERROR_INVALID_VALUE;
    Physical* const physical = physical_of(range->handle);
    if (physical == nullptr) return CUDA_ERROR_INVALID_VALUE;
    ++physical->handles;
    *handle = range->handle;
    return CUDA_SUCCESS;
}

CUresult cuMemMap(CUdeviceptr ptr, size_t size, size_t offset, CUmemGenericAllocationHandle handle,
                  unsigned long long flags) {
    called(__func__);
    if (const auto result = needs_init(); result != CUDA_SUCCESS) return result;
    return flags != 0 ? CUDA_ERROR_INVALID_VALUE : map(ptr, size, offset, handle);
}

CUresult cuMemUnmap(CUdeviceptr ptr, size_t size) {
    called(__func__);
    if (const auto result = needs_init(); result != CUDA_SUCCESS) return result;
    return whole_blocks(size) ? unmap(ptr, size) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemSetAccess(CUdeviceptr ptr, size_t size, const CUmemAccessDesc* desc, size_t count) {
    called(__func__);
    if (const auto result = needs_init(); result != CUDA_SUCCESS) return result;
    if (desc == nullptr || count == 0 || !whole_blocks(size)) return CUDA_ERROR_INVALID_VALUE;
    if (mappings_in(ptr, size).empty()) return CUDA_ERROR_INVALID_VALUE;
    bool any = false;
    for (size_t i = 0; i < count; ++i) any = any || desc[i].flags != 0;
    set_accessible(ptr, size, any);
    return CUDA_SUCCESS;
}

CUresult cuMemGetAccess(unsigned long long* flags, const CUmemLocation* location, CUdeviceptr ptr) {
    called(__func__);
    constexpr unsigned long long kReadWrite = 3;
    if (const auto result = needs_init(); result != CUDA_SUCCESS) return result;
    const auto range = find_range(ptr);
    if (flags == nullptr || location == nullptr || !range) return CUDA_ERROR_INVALID_VALUE;
    *flags = range->accessible ? kReadWrite : 0;
    return CUDA_SUCCESS;
}

CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp* prop,
                                                CUmemGenericAllocationHandle handle) {
    called(__func__);
    if (const auto result = needs_init(); result != CUDA_SUCCESS) return result;
    const std::lock_guard lock(physical_mutex());
    const Physical* const physical = physical_of(handle);
    if (prop == nullptr || physical == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *prop = physical->props;
    return CUDA_SUCCESS;
}

CUresult cuMemExportToShareableHandle(void* shareable, CUmemGenericAllocationHandle handle,
                                      CUmemAllocationHandleType type, unsigned long long flags) {
    called(__func__);
    if (const auto result = needs_init(); result != CUDA_SUCCESS) return result;
    return flags != 0 ? CUDA_ERROR_INVALID_VALUE : export_to_file(shareable, handle, type);
}

CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle* handle, void* osHandle,
                                        CUmemAllocationHandleType type) {
    called(__func__);
    if (const auto result = needs_init(); result != CUDA_SUCCESS) return result;
    if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return CUDA_ERROR_NOT_SUPPORTED;
    const std::lock_guard lock(physical_mutex());
    // The descriptor itself stands where an address would.
    const PhysicalMade made =
        import_physical(static_cast<int>(reinterpret_cast<std::intptr_t>(osHandle)));
    if (made.result == CUDA_SUCCESS) *handle = handle_of(*made.physical);
    return made.result;
}

}  // extern "C"
