// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "guard/exports.h"
#include "guard/memory.h"
#include "guard/vmm.h"

namespace aliquot::guard {
namespace {

/// Bytes of one channel.
std::uint64_t channel_bytes(int format) {
    switch (format) {
        case CU_AD_FORMAT_UNSIGNED_INT16:
        case CU_AD_FORMAT_SIGNED_INT16:
        case CU_AD_FORMAT_HALF:
            return 2;
        case CU_AD_FORMAT_UNSIGNED_INT32:
        case CU_AD_FORMAT_SIGNED_INT32:
        case CU_AD_FORMAT_FLOAT:
            return 4;
        default:
            return 1;  // 8 bit, and packed formats until the driver tells
    }
}

std::uint64_t dimension(std::uint64_t size) { return size == 0 ? 1 : size; }

/// What an array of this shape takes at least; 0: nothing now, or the driver will refuse it.
template <class Descriptor>
std::uint64_t size_of(const Descriptor& shape, std::uint64_t depth, unsigned flags) {
    if ((flags & (CUDA_ARRAY3D_SPARSE | CUDA_ARRAY3D_DEFERRED_MAPPING)) != 0) return 0;
    constexpr std::uint64_t kMost = 1 << 20;  // more than any dimension may be
    if (shape.Width == 0 || shape.Width > kMost || shape.Height > kMost || depth > kMost ||
        shape.NumChannels > 4)
        return 0;
    const unsigned __int128 bytes = static_cast<unsigned __int128>(shape.Width) *
                                    dimension(shape.Height) * dimension(depth) * shape.NumChannels *
                                    channel_bytes(shape.Format);
    return bytes > (std::uint64_t{1} << 50) ? 0 : static_cast<std::uint64_t>(bytes);
}

/// The driver's own figure once the array is there; 0: this driver does not tell.
std::uint64_t required(CUarray array, CUdevice device) {
    CUDA_ARRAY_MEMORY_REQUIREMENTS needs = {};
    const CUresult result = g_driver.cuArrayGetMemoryRequirements(&needs, array, device);
    return result == CUDA_SUCCESS ? needs.size : 0;
}
std::uint64_t required(CUmipmappedArray array, CUdevice device) {
    CUDA_ARRAY_MEMORY_REQUIREMENTS needs = {};
    const CUresult result = g_driver.cuMipmappedArrayGetMemoryRequirements(&needs, array, device);
    return result == CUDA_SUCCESS ? needs.size : 0;
}

template <class Array, class Call>
CUresult make(Array* array, std::uint64_t wanted, Call call) {
    const Inside inside;
    CUdevice device = 0;
    if (!inside || array == nullptr || !is_sensible(wanted) ||
        g_driver.cuCtxGetDevice(&device) != CUDA_SUCCESS)
        return call();
    const unsigned place = place_of_device(device);
    if (place == kNone) return refuse_uncounted(wanted) ? CUDA_ERROR_OUT_OF_MEMORY : call();
    Record record;
    record.kind = Kind::kArray;
    record.place = static_cast<std::uint8_t>(place);
    record.bytes = charged_size(wanted);
    if (!reserve(place, record.bytes)) return CUDA_ERROR_OUT_OF_MEMORY;
    const CUresult result = call();
    if (result != CUDA_SUCCESS) {
        g_ledger.shrink(place, record.bytes, Part::kTracked);
        return result;
    }
    if (const std::uint64_t needs = required(*array, device); needs != 0) {
        const std::uint64_t now = charged_size(needs);
        if (now > record.bytes)
            g_ledger.force(place, now - record.bytes, Part::kTracked);
        else
            g_ledger.shrink(place, record.bytes - now, Part::kTracked);
        record.bytes = now;
    }
    record.context = current_context();
    if (!g_memory.add(reinterpret_cast<std::uintptr_t>(*array), record))
        g_ledger.shrink(place, record.bytes, Part::kTracked);
    return result;
}

template <class Array, class Call>
CUresult destroy(Array array, Call call) {
    const Inside inside;
    Record record;
    const auto key = reinterpret_cast<std::uintptr_t>(array);
    const bool known = inside && g_memory.take(key, record);
    const CUresult result = call();
    if (inside && result == CUDA_SUCCESS) drop_array(key);
    if (!known) return result;
    if (result == CUDA_SUCCESS)
        release(record);
    else
        g_memory.put(key, record);
    return result;
}

}  // namespace
}  // namespace aliquot::guard

using namespace aliquot::guard;

GUARD_EXPORT(cuArrayCreate)
CUresult cuArrayCreate(CUarray* array, const CUDA_ARRAY_DESCRIPTOR_v1* shape) {
    const auto call = [&] { return g_driver.cuArrayCreate(array, shape); };
    if (!guarded() || shape == nullptr) return call();
    return make(array, size_of(*shape, 1, 0), call);
}

GUARD_EXPORT(cuArrayCreate_v2)
CUresult cuArrayCreate_v2(CUarray* array, const CUDA_ARRAY_DESCRIPTOR* shape) {
    const auto call = [&] { return g_driver.cuArrayCreate_v2(array, shape); };
    if (!guarded() || shape == nullptr) return call();
    return make(array, size_of(*shape, 1, 0), call);
}

GUARD_EXPORT(cuArray3DCreate)
CUresult cuArray3DCreate(CUarray* array, const CUDA_ARRAY3D_DESCRIPTOR_v1* shape) {
    const auto call = [&] { return g_driver.cuArray3DCreate(array, shape); };
    if (!guarded() || shape == nullptr) return call();
    return make(array, size_of(*shape, shape->Depth, shape->Flags), call);
}

GUARD_EXPORT(cuArray3DCreate_v2)
CUresult cuArray3DCreate_v2(CUarray* array, const CUDA_ARRAY3D_DESCRIPTOR* shape) {
    const auto call = [&] { return g_driver.cuArray3DCreate_v2(array, shape); };
    if (!guarded() || shape == nullptr) return call();
    return make(array, size_of(*shape, shape->Depth, shape->Flags), call);
}

GUARD_EXPORT(cuMipmappedArrayCreate)
CUresult cuMipmappedArrayCreate(CUmipmappedArray* array, const CUDA_ARRAY3D_DESCRIPTOR* shape,
                                unsigned int levels) {
    const auto call = [&] { return g_driver.cuMipmappedArrayCreate(array, shape, levels); };
    if (!guarded() || shape == nullptr) return call();
    const std::uint64_t base = size_of(*shape, shape->Depth, shape->Flags);
    // Each level is a quarter of the one before, an eighth in three dimensions: a third at most.
    return make(array, levels > 1 ? base + base / 3 : base, call);
}

GUARD_EXPORT(cuArrayDestroy) CUresult cuArrayDestroy(CUarray array) {
    const auto call = [&] { return g_driver.cuArrayDestroy(array); };
    return guarded() ? destroy(array, call) : call();
}

GUARD_EXPORT(cuMipmappedArrayDestroy) CUresult cuMipmappedArrayDestroy(CUmipmappedArray array) {
    const auto call = [&] { return g_driver.cuMipmappedArrayDestroy(array); };
    return guarded() ? destroy(array, call) : call();
}
