// SPDX-License-Identifier: Apache-2.0
// What CUDA tells of memory: the container's slice.
#include "guard/exports.h"
#include "guard/memory.h"
#include "guard/pools.h"

namespace aliquot::guard {
namespace {

constexpr std::uint64_t kPage = std::uint64_t{2} << 20;

/// Makes the driver's answer the container's. Either pointer may be null.
template <class Size>
void show_slice(unsigned place, Size* free, Size* total) {
    const Device& device = g_ledger.device(place);
    const std::uint64_t limit = device.memory_limit();
    if (limit == 0) return;
    if (has_changed_pools()) {
        const Inside inside;
        if (inside) settle_pools();
    }
    g_ledger.take_truth();
    g_ledger.reap_sometimes();
    const std::uint64_t used = g_ledger.used(place);
    const std::uint64_t left = used < limit ? limit - used : 0;
    // Whole pages, as the driver gives them out; not more than it really has.
    if (free != nullptr && left < *free) *free = static_cast<Size>(left / kPage * kPage);
    if (total != nullptr && limit < *total) *total = static_cast<Size>(limit);
}

template <class Size, class Call>
CUresult memory_info(Size* free, Size* total, Call call) {
    const bool ours = guarded();
    const CUresult result = call();
    if (!ours || result != CUDA_SUCCESS) return result;
    if (const unsigned place = current_place(); place != kNone) show_slice(place, free, total);
    return result;
}

template <class Size, class Call>
CUresult total_memory(Size* bytes, CUdevice device, Call call) {
    const bool ours = guarded();
    const CUresult result = call();
    if (!ours || result != CUDA_SUCCESS || bytes == nullptr) return result;
    const Inside inside;
    if (!inside) return result;
    if (const unsigned place = place_of_device(device); place != kNone) {
        const std::uint64_t limit = g_ledger.device(place).memory_limit();
        if (limit != 0 && limit < *bytes) *bytes = static_cast<Size>(limit);
    }
    return result;
}

}  // namespace
}  // namespace aliquot::guard

using namespace aliquot::guard;

GUARD_EXPORT(cuMemGetInfo_v2) CUresult cuMemGetInfo_v2(size_t* free, size_t* total) {
    return memory_info(free, total, [&] { return g_driver.cuMemGetInfo_v2(free, total); });
}
GUARD_EXPORT(cuMemGetInfo) CUresult cuMemGetInfo(unsigned int* free, unsigned int* total) {
    return memory_info(free, total, [&] { return g_driver.cuMemGetInfo(free, total); });
}
GUARD_EXPORT(cuDeviceTotalMem_v2) CUresult cuDeviceTotalMem_v2(size_t* bytes, CUdevice device) {
    return total_memory(bytes, device, [&] { return g_driver.cuDeviceTotalMem_v2(bytes, device); });
}
GUARD_EXPORT(cuDeviceTotalMem) CUresult cuDeviceTotalMem(unsigned int* bytes, CUdevice device) {
    return total_memory(bytes, device, [&] { return g_driver.cuDeviceTotalMem(bytes, device); });
}
