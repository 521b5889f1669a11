// SPDX-License-Identifier: Apache-2.0
#include "tests/contract/guard/kinds.h"

#include <cstring>

namespace aliquot::guardkit {
namespace {

constexpr std::uint64_t kChunk = 64 * kMi;
constexpr std::uint64_t kGranule = 2 * kMi;
constexpr std::uint64_t kPoolSlack = 34 * kMi;

template <class Handle>
Handle untouched() {
    Handle value{};
    std::memset(&value, 0x5a, sizeof value);
    return value;
}

/// Calls with an output that is known before; a refusal must leave it so.
template <class Handle, class Call>
CUresult with_output(Handle& out, const Call& call) {
    Handle value = untouched<Handle>();
    const CUresult result = call(&value);
    if (result == CUDA_SUCCESS) {
        out = value;
    } else if (result == CUDA_ERROR_OUT_OF_MEMORY) {
        CHECK_THAT(value == untouched<Handle>() && "a refused call wrote its output");
    }
    return result;
}

CUresult alloc(Held& held) {
    return with_output(held.pointer, [](auto* p) { return CU(cuMemAlloc_v2)(p, kChunk); });
}
CUresult alloc_odd(Held& held) {  // one byte more than two granules
    return with_output(held.pointer, [](auto* p) { return CU(cuMemAlloc_v2)(p, 4 * kMi + 1); });
}
CUresult alloc_old(Held& held) {
    CUdeviceptr_v1 pointer = 0;
    const CUresult result =
        with_output(pointer, [](auto* p) { return CU(cuMemAlloc)(p, unsigned{kChunk}); });
    if (result == CUDA_SUCCESS) held.pointer = pointer;
    return result;
}
CUresult managed(Held& held) {
    return with_output(held.pointer, [](auto* p) {
        return CU(cuMemAllocManaged)(p, kChunk, CU_MEM_ATTACH_GLOBAL);
    });
}
CUresult pitch(Held& held) {
    auto bytes = untouched<std::size_t>();
    const CUresult result = with_output(held.pointer, [&](auto* p) {
        return CU(cuMemAllocPitch_v2)(p, &bytes, 4096, kChunk / 4096, 4);
    });
    if (result == CUDA_SUCCESS) CHECK_GE(bytes, std::size_t{4096});
    if (result == CUDA_ERROR_OUT_OF_MEMORY) CHECK_EQ(bytes, untouched<std::size_t>());
    return result;
}
CUresult pitch_narrow(Held& held) {  // four bytes asked a row, at least 512 taken in truth
    std::size_t bytes = 0;
    return with_output(held.pointer, [&](auto* p) {
        return CU(cuMemAllocPitch_v2)(p, &bytes, 4, kChunk / 512, 4);
    });
}
CUresult free_v2(Held& held) { return CU(cuMemFree_v2)(held.pointer); }
CUresult free_old(Held& held) { return CU(cuMemFree)(static_cast<CUdeviceptr_v1>(held.pointer)); }

// 16 bytes an element throughout.
CUresult array_1d(Held& held) {
    const CUDA_ARRAY_DESCRIPTOR shape{
        .Width = 65536, .Height = 0, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 4};
    return with_output(held.array, [&](auto* a) { return CU(cuArrayCreate_v2)(a, &shape); });
}
CUresult array_2d(Held& held) {
    const CUDA_ARRAY_DESCRIPTOR shape{
        .Width = 2048, .Height = 2048, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 4};
    return with_output(held.array, [&](auto* a) { return CU(cuArrayCreate_v2)(a, &shape); });
}
CUresult array_old(Held& held) {
    const CUDA_ARRAY_DESCRIPTOR_v1 shape{
        .Width = 2048, .Height = 2048, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 4};
    return with_output(held.array, [&](auto* a) { return CU(cuArrayCreate)(a, &shape); });
}
CUresult array_3d(Held& held) {
    const CUDA_ARRAY3D_DESCRIPTOR shape{.Width = 256,
                                        .Height = 256,
                                        .Depth = 64,
                                        .Format = CU_AD_FORMAT_FLOAT,
                                        .NumChannels = 4,
                                        .Flags = 0};
    return with_output(held.array, [&](auto* a) { return CU(cuArray3DCreate_v2)(a, &shape); });
}
CUresult array_3d_old(Held& held) {
    const CUDA_ARRAY3D_DESCRIPTOR_v1 shape{.Width = 256,
                                           .Height = 256,
                                           .Depth = 64,
                                           .Format = CU_AD_FORMAT_FLOAT,
                                           .NumChannels = 4,
                                           .Flags = 0};
    return with_output(held.array, [&](auto* a) { return CU(cuArray3DCreate)(a, &shape); });
}
CUresult array_layered(Held& held) {  // depth counts layers; a height of 0 is one row
    const CUDA_ARRAY3D_DESCRIPTOR shape{.Width = 16384,
                                        .Height = 0,
                                        .Depth = 256,
                                        .Format = CU_AD_FORMAT_FLOAT,
                                        .NumChannels = 4,
                                        .Flags = CUDA_ARRAY3D_LAYERED};
    return with_output(held.array, [&](auto* a) { return CU(cuArray3DCreate_v2)(a, &shape); });
}
CUresult free_array(Held& held) { return CU(cuArrayDestroy)(held.array); }

CUresult mipmap(Held& held) {
    const CUDA_ARRAY3D_DESCRIPTOR shape{.Width = 2048,
                                        .Height = 2048,
                                        .Depth = 0,
                                        .Format = CU_AD_FORMAT_FLOAT,
                                        .NumChannels = 4,
                                        .Flags = 0};
    return with_output(held.mipmaps,
                       [&](auto* m) { return CU(cuMipmappedArrayCreate)(m, &shape, 12); });
}
CUresult free_mipmap(Held& held) { return CU(cuMipmappedArrayDestroy)(held.mipmaps); }

CUmemAllocationProp device_memory() {
    CUmemAllocationProp prop{};
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0};
    return prop;
}
CUresult vmm(Held& held) {
    const CUmemAllocationProp prop = device_memory();
    return with_output(held.handle, [&](auto* h) { return CU(cuMemCreate)(h, kChunk, &prop, 0); });
}
CUresult free_vmm(Held& held) { return CU(cuMemRelease)(held.handle); }

void give_back_pool(CUmemoryPool pool) {
    CHECK_OK(CU(cuStreamSynchronize)(work_stream()));
    CHECK_OK(CU(cuMemPoolTrimTo)(pool, 0));
}
CUresult async(Held& held) {
    const CUresult result = with_output(
        held.pointer, [](auto* p) { return CU(cuMemAllocAsync)(p, kChunk, work_stream()); });
    if (result == CUDA_SUCCESS) CHECK_OK(CU(cuDeviceGetDefaultMemPool)(&held.pool, 0));
    return result;
}
CUresult free_async(Held& held) {
    const CUresult result = CU(cuMemFreeAsync)(held.pointer, work_stream());
    give_back_pool(held.pool);
    return result;
}
CUresult free_async_plain(Held& held) {  // pool memory given to cuMemFree
    const CUresult result = CU(cuMemFree_v2)(held.pointer);
    give_back_pool(held.pool);
    return result;
}
CUresult own_pool(Held& held) {
    static CUmemoryPool pool = nullptr;
    if (pool == nullptr) {
        CUmemPoolProps props{};
        props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
        props.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0};
        const CUresult made = CU(cuMemPoolCreate)(&pool, &props);
        skip_when_unsupported(made, "cuMemPoolCreate");
        if (made != CUDA_SUCCESS) return made;
    }
    held.pool = pool;
    return with_output(held.pointer, [&](auto* p) {
        return CU(cuMemAllocFromPoolAsync)(p, kChunk, pool, work_stream());
    });
}

CUresult launch_graph(Held& held) {
    CUresult result = CU(cuGraphInstantiateWithFlags)(&held.exec, held.graph, 0);
    if (result == CUDA_SUCCESS) result = CU(cuGraphLaunch)(held.exec, work_stream());
    if (result == CUDA_SUCCESS) result = CU(cuStreamSynchronize)(work_stream());
    return result;
}
CUresult free_graph(Held& held) {
    if (held.exec != nullptr) CHECK_OK(CU(cuGraphExecDestroy)(held.exec));
    if (held.graph != nullptr) CHECK_OK(CU(cuGraphDestroy)(held.graph));
    held = {};
    return CU(cuDeviceGraphMemTrim)(0);
}
/// Graph memory belongs to the exec: the allocation lives until it is freed or the exec goes.
CUresult release_graph(Held& held) {
    CHECK_OK(CU(cuMemFreeAsync)(held.pointer, work_stream()));
    CHECK_OK(CU(cuStreamSynchronize)(work_stream()));
    return free_graph(held);
}
CUresult graph_node(Held& held) {
    CUresult result = CU(cuGraphCreate)(&held.graph, 0);
    skip_when_unsupported(result, "cuGraphCreate");
    CHECK_OK(result);
    CUDA_MEM_ALLOC_NODE_PARAMS params{};
    params.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    params.poolProps.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0};
    params.bytesize = kChunk;
    CUgraphNode node = nullptr;
    result = CU(cuGraphAddMemAllocNode)(&node, held.graph, nullptr, 0, &params);
    skip_when_unsupported(result, "cuGraphAddMemAllocNode");
    held.pointer = params.dptr;
    if (result == CUDA_SUCCESS) result = launch_graph(held);
    if (result != CUDA_SUCCESS) free_graph(held);
    return result;
}
CUresult captured(Held& held) {
    const CUresult begun =
        CU(cuStreamBeginCapture_v2)(work_stream(), CU_STREAM_CAPTURE_MODE_GLOBAL);
    skip_when_unsupported(begun, "cuStreamBeginCapture_v2");
    CHECK_OK(begun);
    CUresult result = CU(cuMemAllocAsync)(&held.pointer, kChunk, work_stream());
    CUgraph graph = nullptr;
    const CUresult ended = CU(cuStreamEndCapture)(work_stream(), &graph);
    held.graph = graph;
    if (result == CUDA_SUCCESS) result = ended;
    if (result == CUDA_SUCCESS) result = launch_graph(held);
    if (result != CUDA_SUCCESS) free_graph(held);
    return result;
}

constexpr Kind kKinds[] = {
    {"alloc", kChunk, kGranule, alloc, free_v2},
    {"alloc_odd", 4 * kMi + 1, kGranule, alloc_odd, free_v2},
    {"alloc_old", kChunk, kGranule, alloc_old, free_old},
    {"managed", kChunk, kGranule, managed, free_v2},
    {"pitch", kChunk, kGranule, pitch, free_v2},
    {"pitch_narrow", kChunk, kGranule, pitch_narrow, free_v2},
    {"array_1d", kMi, kGranule, array_1d, free_array},
    {"array_2d", kChunk, kGranule, array_2d, free_array},
    {"array_old", kChunk, kGranule, array_old, free_array},
    {"array_3d", kChunk, kGranule, array_3d, free_array},
    {"array_3d_old", kChunk, kGranule, array_3d_old, free_array},
    {"array_layered", kChunk, kGranule, array_layered, free_array},
    {"mipmap", kChunk + kChunk / 3, 4 * kMi, mipmap, free_mipmap},
    {"vmm", kChunk, 0, vmm, free_vmm},
    {"async", kChunk, kPoolSlack, async, free_async},
    {"async_freed_plainly", kChunk, kPoolSlack, async, free_async_plain},
    {"own_pool", kChunk, kPoolSlack, own_pool, free_async},
    {"graph_node", kChunk, kPoolSlack, graph_node, release_graph},
    {"captured", kChunk, kPoolSlack, captured, release_graph},
};

}  // namespace

const Kind& kind_named(const char* name) {
    for (const Kind& kind : kKinds) {
        if (std::strcmp(kind.name, name) == 0) return kind;
    }
    fail(__FILE__, __LINE__, std::string("no kind of allocation called ") + name);
}

CUresult allocate_once(const Kind& kind, Held& held) { return kind.allocate(held); }

CUstream work_stream() {
    static CUstream stream = nullptr;
    if (stream == nullptr) {
        const CUresult made = CU(cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING);
        skip_when_unsupported(made, "cuStreamCreate");
        CHECK_OK(made);
    }
    return stream;
}

void skip_when_unsupported(CUresult result, const char* what) {
    if (result == CUDA_ERROR_NOT_SUPPORTED)
        skip(std::string(what) + " is not supported by this driver");
}

}  // namespace aliquot::guardkit
