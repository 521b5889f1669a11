// SPDX-License-Identifier: Apache-2.0
// Entry points about multicast objects: one address for memory of several devices. Nothing is copied
// between devices here; programs that only set them up find them.
#include <mutex>

#include "sim/cuda/arena.h"
#include "sim/cuda/device_attributes.h"
#include "sim/cuda/driver.h"
#include "sim/cuda/objects.h"
#include "sim/cuda/physical.h"
#include "sim/cuda/ranges.h"
#include "sim/cuda/trace.h"

using namespace aliquot::sim;

namespace {

constexpr int kMulticastAttribute = 132;

bool plausible(const CUmulticastObjectProp* prop) {
    return prop != nullptr && prop->numDevices > 0 && prop->size > 0 &&
           prop->size % kBlockBytes == 0 && prop->flags == 0;
}

bool supported(CUdevice ordinal) {
    const Device* const device = Driver::get().device(ordinal);
    return device != nullptr && device_attribute(*device, kMulticastAttribute) == 1;
}

/// Under the lock: a multicast object.
Physical* object_of(CUmemGenericAllocationHandle handle) {
    Physical* const found = physical_of(handle);
    return found != nullptr && found->multicast ? found : nullptr;
}

/// Under the lock: what is bound lives as long as it is, and the object.
CUresult bind(CUmemGenericAllocationHandle handle, std::uint64_t offset, Physical* memory,
              std::uint64_t memory_offset, std::uint64_t size, unsigned long long flags) {
    Physical* const object = object_of(handle);
    if (object == nullptr || memory == nullptr || memory->multicast || flags != 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (object->devices < object->devices_wanted) return CUDA_ERROR_ILLEGAL_STATE;
    const bool inside = offset <= object->bytes && size <= object->bytes - offset &&
                        memory_offset <= memory->bytes && size <= memory->bytes - memory_offset;
    if (!inside) return CUDA_ERROR_INVALID_VALUE;
    ++memory->mappings;
    object->bound.emplace(offset, memory);
    return CUDA_SUCCESS;
}

}  // namespace

extern "C" {

CUresult cuMulticastCreate(CUmemGenericAllocationHandle* handle,
                           const CUmulticastObjectProp* prop) {
    called(__func__);
    if (const auto result = needs_init(); result != CUDA_SUCCESS) return result;
    if (handle == nullptr || !plausible(prop)) return CUDA_ERROR_INVALID_VALUE;
    if (!supported(0)) return CUDA_ERROR_NOT_SUPPORTED;
    CUmemAllocationProp props{};
    props.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    props.requestedHandleTypes = static_cast<int>(prop->handleTypes);
    const PhysicalMade made = make_physical(props, prop->size, nullptr);
    made.physical->multicast = true;
    made.physical->devices_wanted = prop->numDevices;
    *handle = handle_of(*made.physical);
    return CUDA_SUCCESS;
}

CUresult cuMulticastAddDevice(CUmemGenericAllocationHandle handle, CUdevice device) {
    called(__func__);
    if (const auto result = needs_init(); result != CUDA_SUCCESS) return result;
    if (Driver::get().device(device) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
    if (!supported(device)) return CUDA_ERROR_NOT_SUPPORTED;
    const std::lock_guard lock(physical_mutex());
    Physical* const object = object_of(handle);
    if (object == nullptr || object->devices >= object->devices_wanted) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    ++object->devices;
    return CUDA_SUCCESS;
}

CUresult cuMulticastBindMem(CUmemGenericAllocationHandle handle, size_t offset,
                            CUmemGenericAllocationHandle memory, size_t memory_offset, size_t size,
                            unsigned long long flags) {
    called(__func__);
    if (const auto result = needs_init(); result != CUDA_SUCCESS) return result;
    const std::lock_guard lock(physical_mutex());
    return bind(handle, offset, physical_of(memory), memory_offset, size, flags);
}

CUresult cuMulticastBindAddr(CUmemGenericAllocationHandle handle, size_t offset,
                             CUdeviceptr address, size_t size, unsigned long long flags) {
    called(__func__);
    if (const auto result = needs_init(); result != CUDA_SUCCESS) return result;
    const std::lock_guard lock(physical_mutex());
    const auto range = find_range(address);
    const bool mapped = range && range->kind == RangeKind::kMapping &&
                        size <= range->address + range->bytes - address;
    if (!mapped) return CUDA_ERROR_INVALID_VALUE;
    return bind(handle, offset, physical_of(range->handle), address - range->address, size, flags);
}

CUresult cuMulticastUnbind(CUmemGenericAllocationHandle handle, CUdevice device, size_t offset,
                           size_t size) {
    called(__func__);
    if (const auto result = needs_init(); result != CUDA_SUCCESS) return result;
    if (Driver::get().device(device) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
    const std::lock_guard lock(physical_mutex());
    Physical* const object = object_of(handle);
    const bool inside =
        object != nullptr && offset <= object->bytes && size <= object->bytes - offset;
    if (!inside) return CUDA_ERROR_INVALID_VALUE;
    const Device* const of = Driver::get().device(device);
    for (auto at = object->bound.lower_bound(offset);
         at != object->bound.end() && at->first - offset < size;) {
        Physical* const memory = at->second;
        if (memory->device != of) {
            ++at;
            continue;
        }
        at = object->bound.erase(at);
        drop_mapping(*memory);
    }
    return CUDA_SUCCESS;
}

CUresult cuMulticastGetGranularity(size_t* granularity, const CUmulticastObjectProp* prop, int) {
    called(__func__);
    if (const auto result = needs_init(); result != CUDA_SUCCESS) return result;
    if (granularity == nullptr || prop == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *granularity = kBlockBytes;
    return CUDA_SUCCESS;
}

}  // extern "C"
