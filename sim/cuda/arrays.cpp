// SPDX-License-Identifier: Apache-2.0
// Entry points about arrays.
#include <algorithm>
#include <limits>
#include <mutex>

#include "sim/cuda/array.h"
#include "sim/cuda/capture.h"
#include "sim/cuda/context.h"
#include "sim/cuda/driver.h"
#include "sim/cuda/objects.h"
#include "sim/cuda/trace.h"

using namespace aliquot::sim;

std::uint64_t CUarray_st::texel_bytes() const {
    std::uint64_t channel = 4;
    switch (descriptor.Format) {
        case CU_AD_FORMAT_UNSIGNED_INT8:
        case CU_AD_FORMAT_SIGNED_INT8:
            channel = 1;
            break;
        case CU_AD_FORMAT_UNSIGNED_INT16:
        case CU_AD_FORMAT_SIGNED_INT16:
        case CU_AD_FORMAT_HALF:
            channel = 2;
            break;
        default:
            break;
    }
    return channel * descriptor.NumChannels;
}

namespace {

constexpr std::uint64_t kAlignment = 65536;  // of an array's memory
constexpr unsigned kWithoutMemory = CUDA_ARRAY3D_SPARSE | CUDA_ARRAY3D_DEFERRED_MAPPING;
constexpr std::size_t kMostExtent = 131072;

bool plausible(const CUDA_ARRAY3D_DESCRIPTOR& descriptor) {
    constexpr int kFormats[] = {CU_AD_FORMAT_UNSIGNED_INT8,  CU_AD_FORMAT_UNSIGNED_INT16,
                                CU_AD_FORMAT_UNSIGNED_INT32, CU_AD_FORMAT_SIGNED_INT8,
                                CU_AD_FORMAT_SIGNED_INT16,   CU_AD_FORMAT_SIGNED_INT32,
                                CU_AD_FORMAT_HALF,           CU_AD_FORMAT_FLOAT};
    const auto channels = descriptor.NumChannels;
    if (channels != 1 && channels != 2 && channels != 4) return false;
    if (std::ranges::find(kFormats, descriptor.Format) == std::end(kFormats)) return false;
    if (descriptor.Width == 0 || descriptor.Width > kMostExtent) return false;
    return descriptor.Height <= kMostExtent && descriptor.Depth <= kMostExtent;
}

std::uint64_t bytes_of(const CUarray_st& array) {
    return array.row_bytes() * std::max<std::size_t>(array.descriptor.Height, 1) *
           std::max<std::size_t>(array.descriptor.Depth, 1);
}

std::uint64_t aligned(std::uint64_t bytes) {
    return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

CUresult make(CUarray* array, const CUDA_ARRAY3D_DESCRIPTOR& descriptor) {
    const Current current = current_context();
    if (!current) return current.result;
    if (array == nullptr || !plausible(descriptor)) return CUDA_ERROR_INVALID_VALUE;
    if (const auto barred = barred_here(); barred != CUDA_SUCCESS) return barred;
    CUarray_st made;
    made.device = current.context->device;
    made.descriptor = descriptor;
    made.bytes = aligned(bytes_of(made));
    if ((descriptor.Flags & kWithoutMemory) == 0) {
        const Granted granted = take_memory(
            *made.device, {.bytes = made.bytes, .use = Use::kArray, .owner = current.context->id});
        if (granted.result != CUDA_SUCCESS) return granted.result;
        made.address = granted.address;
    }
    *array = objects<CUarray_st>().make(made);
    return CUDA_SUCCESS;
}

void give_back(Device& device, std::uint64_t address) {
    if (address == 0) return;
    if (const auto found = find_allocation(device, address)) give_memory(device, *found);
}

CUresult make_levels(CUmipmappedArray* array, const CUDA_ARRAY3D_DESCRIPTOR& descriptor,
                     unsigned count) {
    const Current current = current_context();
    if (!current) return current.result;
    if (array == nullptr || count == 0 || !plausible(descriptor)) return CUDA_ERROR_INVALID_VALUE;
    if (const auto barred = barred_here(); barred != CUDA_SUCCESS) return barred;
    std::vector<CUarray_st> levels;
    std::uint64_t bytes = 0;
    CUDA_ARRAY3D_DESCRIPTOR extent = descriptor;
    for (unsigned i = 0; i < count; ++i) {
        CUarray_st level;
        level.device = current.context->device;
        level.descriptor = extent;
        level.level = true;
        level.bytes = bytes_of(level);
        level.address = bytes;
        bytes += (level.bytes + 511) / 512 * 512;
        levels.push_back(level);
        if (extent.Width <= 1 && extent.Height <= 1 && extent.Depth <= 1) break;  // the smallest
        extent.Width = std::max<std::size_t>(extent.Width / 2, 1);
        if (extent.Height > 0) extent.Height = std::max<std::size_t>(extent.Height / 2, 1);
        const bool layered = (extent.Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP)) != 0;
        if (extent.Depth > 0 && !layered) extent.Depth = std::max<std::size_t>(extent.Depth / 2, 1);
    }
    bytes = aligned(bytes);
    std::uint64_t address = 0;
    if ((descriptor.Flags & kWithoutMemory) == 0) {
        const Granted granted =
            take_memory(*current.context->device,
                        {.bytes = bytes, .use = Use::kArray, .owner = current.context->id});
        if (granted.result != CUDA_SUCCESS) return granted.result;
        address = granted.address;
    }
    CUmipmappedArray_st* const made = objects<CUmipmappedArray_st>().make();
    made->device = current.context->device;
    made->address = address;
    made->bytes = bytes;
    for (CUarray_st& level : levels) {
        level.address = address == 0 ? 0 : address + level.address;
        made->levels.push_back(objects<CUarray_st>().make(level));
    }
    *array = made;
    return CUDA_SUCCESS;
}

CUresult tell_requirements(CUDA_ARRAY_MEMORY_REQUIREMENTS* requirements, std::uint64_t bytes) {
    if (requirements == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *requirements = {.size = bytes, .alignment = kAlignment, .reserved = {}};
    return CUDA_SUCCESS;
}

}  // namespace

extern "C" {

CUresult cuArrayCreate_v2(CUarray* array, const CUDA_ARRAY_DESCRIPTOR* d) {
    called(__func__);
    if (d == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return make(array, {d->Width, d->Height, 0, d->Format, d->NumChannels, 0});
}

CUresult cuArrayCreate(CUarray* array, const CUDA_ARRAY_DESCRIPTOR_v1* d) {
    called(__func__);
    if (d == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return make(array, {d->Width, d->Height, 0, d->Format, d->NumChannels, 0});
}

CUresult cuArray3DCreate_v2(CUarray* array, const CUDA_ARRAY3D_DESCRIPTOR* d) {
    called(__func__);
    return d == nullptr ? CUDA_ERROR_INVALID_VALUE : make(array, *d);
}

CUresult cuArray3DCreate(CUarray* array, const CUDA_ARRAY3D_DESCRIPTOR_v1* d) {
    called(__func__);
    if (d == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return make(array, {d->Width, d->Height, d->Depth, d->Format, d->NumChannels, d->Flags});
}

CUresult cuArrayDestroy(CUarray array) {
    called(__func__);
    const Current current = current_context();
    if (!current) return current.result;
    if (!valid(array) || array->level) return CUDA_ERROR_INVALID_HANDLE;
    (void)array->device->queue.wait(array->device->queue.end());
    give_back(*array->device, array->address);
    drop_parts(array->parts);
    objects<CUarray_st>().destroy(array);
    return CUDA_SUCCESS;
}

CUresult cuArray3DGetDescriptor_v2(CUDA_ARRAY3D_DESCRIPTOR* descriptor, CUarray array) {
    called(__func__);
    const Current current = current_context();
    if (!current) return current.result;
    if (descriptor == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (!valid(array)) return CUDA_ERROR_INVALID_HANDLE;
    *descriptor = array->descriptor;
    return CUDA_SUCCESS;
}

CUresult cuArrayGetDescriptor_v2(CUDA_ARRAY_DESCRIPTOR* descriptor, CUarray array) {
    called(__func__);
    CUDA_ARRAY3D_DESCRIPTOR whole{};
    if (descriptor == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const CUresult result = cuArray3DGetDescriptor_v2(&whole, array);
    if (result != CUDA_SUCCESS) return result;
    *descriptor = {whole.Width, whole.Height, whole.Format, whole.NumChannels};
    return CUDA_SUCCESS;
}

CUresult cuArrayGetMemoryRequirements(CUDA_ARRAY_MEMORY_REQUIREMENTS* requirements, CUarray array,
                                      CUdevice) {
    called(__func__);
    if (const auto result = needs_init(); result != CUDA_SUCCESS) return result;
    if (!valid(array)) return CUDA_ERROR_INVALID_HANDLE;
    return tell_requirements(requirements, array->bytes);
}

CUresult cuMipmappedArrayCreate(CUmipmappedArray* array, const CUDA_ARRAY3D_DESCRIPTOR* descriptor,
                                unsigned int levels) {
    called(__func__);
    return descriptor == nullptr ? CUDA_ERROR_INVALID_VALUE
                                 : make_levels(array, *descriptor, levels);
}

CUresult cuMipmappedArrayDestroy(CUmipmappedArray array) {
    called(__func__);
    const Current current = current_context();
    if (!current) return current.result;
    if (!valid(array)) return CUDA_ERROR_INVALID_HANDLE;
    (void)array->device->queue.wait(array->device->queue.end());
    for (CUarray const level : array->levels) objects<CUarray_st>().destroy(level);
    give_back(*array->device, array->address);
    drop_parts(array->parts);
    objects<CUmipmappedArray_st>().destroy(array);
    return CUDA_SUCCESS;
}

CUresult cuMipmappedArrayGetLevel(CUarray* level, CUmipmappedArray array, unsigned int index) {
    called(__func__);
    const Current current = current_context();
    if (!current) return current.result;
    if (!valid(array)) return CUDA_ERROR_INVALID_HANDLE;
    if (level == nullptr || index >= array->levels.size()) return CUDA_ERROR_INVALID_VALUE;
    *level = array->levels[index];
    return CUDA_SUCCESS;
}

CUresult cuMipmappedArrayGetMemoryRequirements(CUDA_ARRAY_MEMORY_REQUIREMENTS* requirements,
                                               CUmipmappedArray array, CUdevice) {
    called(__func__);
    if (const auto result = needs_init(); result != CUDA_SUCCESS) return result;
    if (!valid(array)) return CUDA_ERROR_INVALID_HANDLE;
    return tell_requirements(requirements, array->bytes);
}

}  // extern "C"
