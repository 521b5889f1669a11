// SPDX-License-Identifier: Apache-2.0
// Entry points about sparse arrays: parts of them stand for memory that the program has made itself.
// What is mapped keeps its memory; texels are not kept in it.
#include <algorithm>
#include <mutex>
#include <vector>

#include "sim/cuda/array.h"
#include "sim/cuda/context.h"
#include "sim/cuda/driver.h"
#include "sim/cuda/objects.h"
#include "sim/cuda/physical.h"
#include "sim/cuda/stream.h"
#include "sim/cuda/two_streams.h"

using namespace aliquot::sim;

namespace {

constexpr std::uint64_t kTileBytes = 65536;

/// Texels of one tile of two dimensions.
struct Tile {
    unsigned width;
    unsigned height;
};

/// As square as a power of two allows, wider where it does not.
Tile tile_of(std::uint64_t texel_bytes) {
    Tile tile{.width = 1, .height = 1};
    for (std::uint64_t bytes = texel_bytes; bytes < kTileBytes; bytes *= 2) {
        if (tile.width == tile.height)
            tile.width *= 2;
        else
            tile.height *= 2;
    }
    return tile;
}

/// What a call names: the map of the array's or the mipmapped array's parts, and the level in it.
struct Place {
    SparseParts* parts;  // nullptr: no sparse array
    const CUarray_st* level;
    const Device* device;
};

Place place_of(const CUarrayMapInfo& info) {
    if (info.resourceType == CU_RESOURCE_TYPE_ARRAY) {
        CUarray_st* const array = info.resource.array;
        const bool sparse = valid(array) && !array->level &&
                            (array->descriptor.Flags & CUDA_ARRAY3D_SPARSE) != 0 &&
                            info.subresource.sparseLevel.level == 0;
        return sparse ? Place{&array->parts, array, array->device} : Place{};
    }
    CUmipmappedArray_st* const mipmap = info.resource.mipmap;
    if (info.resourceType != CU_RESOURCE_TYPE_MIPMAPPED_ARRAY || !valid(mipmap)) return {};
    const unsigned level = info.subresource.sparseLevel.level;
    if (level >= mipmap->levels.size()) return {};
    const CUarray_st* const found = mipmap->levels[level];
    if ((found->descriptor.Flags & CUDA_ARRAY3D_SPARSE) == 0) return {};
    return {&mipmap->parts, found, mipmap->device};
}

bool whole_tiles(unsigned offset, unsigned extent, std::size_t size, unsigned tile) {
    const std::size_t most = std::max<std::size_t>(size, 1);
    if (extent == 0 || offset % tile != 0 || offset > most || extent > most - offset) return false;
    return extent % tile == 0 || offset + extent == most;
}

/// Bytes that a part takes of the memory it is mapped to; 0: it is no part of the array.
std::uint64_t bytes_of(const CUarrayMapInfo& info, const CUarray_st& level) {
    if (info.subresourceType != CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_SPARSE_LEVEL) return 0;
    const auto& part = info.subresource.sparseLevel;
    const CUDA_ARRAY3D_DESCRIPTOR& whole = level.descriptor;
    const Tile tile = tile_of(level.texel_bytes());
    const bool inside = whole_tiles(part.offsetX, part.extentWidth, whole.Width, tile.width) &&
                        whole_tiles(part.offsetY, part.extentHeight, whole.Height, tile.height) &&
                        whole_tiles(part.offsetZ, part.extentDepth, whole.Depth, 1) &&
                        part.layer <= whole.Depth;
    if (!inside) return 0;
    const std::uint64_t columns = (part.extentWidth + tile.width - 1) / tile.width;
    const std::uint64_t rows = (part.extentHeight + tile.height - 1) / tile.height;
    return columns * rows * part.extentDepth * kTileBytes;
}

SparsePart part_of(const CUarrayMapInfo& info) {
    const auto& part = info.subresource.sparseLevel;
    return {part.level,   part.layer,       part.offsetX,      part.offsetY,
            part.offsetZ, part.extentWidth, part.extentHeight, part.extentDepth};
}

/// Under the lock of physical memory.
CUresult check(const CUarrayMapInfo& info) {
    const Place place = place_of(info);
    if (place.parts == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const std::uint64_t bytes = bytes_of(info, *place.level);
    const bool plausible = bytes != 0 && info.flags == 0 &&
                           info.memHandleType == CU_MEM_HANDLE_TYPE_GENERIC &&
                           info.deviceBitMask == 1U << place.device->ordinal;
    if (!plausible) return CUDA_ERROR_INVALID_VALUE;
    const bool mapped = place.parts->contains(part_of(info));
    if (info.memOperationType == CU_MEM_OPERATION_TYPE_UNMAP)
        return mapped ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    const Physical* const memory = physical_of(info.memHandle.memHandle);
    const bool fits = info.memOperationType == CU_MEM_OPERATION_TYPE_MAP && !mapped &&
                      memory != nullptr && !memory->multicast && info.offset % kTileBytes == 0 &&
                      info.offset <= memory->bytes && bytes <= memory->bytes - info.offset;
    return fits ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

void drop(Physical* memory) {
    const std::lock_guard lock(physical_mutex());
    drop_mapping(*memory);
}

/// All of the list or, when one entry is wrong, none.
CUresult map_parts(const CUarrayMapInfo* list, unsigned count, CUstream handle, bool own_stream) {
    const Current current = current_context();
    if (!current) return current.result;
    CUstream_st* const stream = stream_of(current.context, handle, own_stream);
    if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (list == nullptr || count == 0) return CUDA_ERROR_INVALID_VALUE;
    if (stream->capture.load() != nullptr) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    std::vector<Physical*> gone;
    {
        const std::lock_guard lock(physical_mutex());
        for (unsigned i = 0; i < count; ++i)
            if (const auto wrong = check(list[i]); wrong != CUDA_SUCCESS) return wrong;
        for (unsigned i = 0; i < count; ++i) {
            SparseParts& parts = *place_of(list[i]).parts;
            if (list[i].memOperationType == CU_MEM_OPERATION_TYPE_MAP) {
                Physical* const memory = physical_of(list[i].memHandle.memHandle);
                if (parts.emplace(part_of(list[i]), memory).second) ++memory->mappings;
                continue;
            }
            const auto found = parts.find(part_of(list[i]));
            if (found == parts.end()) continue;  // twice in this list
            gone.push_back(found->second);
            parts.erase(found);
        }
    }
    // The memory goes when the stream has come to this.
    for (Physical* const memory : gone) {
        if (stream->context->device->queue.idle())
            drop(memory);
        else
            submit(*stream, {}, [memory] { drop(memory); });
    }
    return CUDA_SUCCESS;
}

}  // namespace

namespace aliquot::sim {

void drop_parts(SparseParts& parts) {
    const std::lock_guard lock(physical_mutex());
    for (const auto& [part, memory] : parts) drop_mapping(*memory);
    parts.clear();
}

}  // namespace aliquot::sim

extern "C" {

TWO_STREAMS(cuMemMapArrayAsync, _ptsz,
            (CUarrayMapInfo * mappings, unsigned int count, CUstream stream),
            map_parts(mappings, count, stream, own_stream))

}  // extern "C"
