// SPDX-License-Identifier: Apache-2.0
//
// Virtual memory management, pools, and memory that came from elsewhere.
#include <unistd.h>

#include <vector>

#include "tests/contract/guard/counting.h"
#include "tests/contract/guard/kinds.h"
#include "tests/contract/guard/worker.h"

namespace aliquot::guardkit::checks {
namespace {

constexpr std::uint64_t kSize = 64 * kMi;

CUmemAllocationProp memory_on(int type, int id) {
    CUmemAllocationProp prop{};
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location = {.type = type, .id = id};
    return prop;
}

CUmemGenericAllocationHandle create(int device = 0) {
    const CUmemAllocationProp prop = memory_on(CU_MEM_LOCATION_TYPE_DEVICE, device);
    CUmemGenericAllocationHandle handle = 0;
    const CUresult result = CU(cuMemCreate)(&handle, kSize, &prop, 0);
    skip_when_unsupported(result, "cuMemCreate");
    CHECK_OK(result);
    return handle;
}

CUdeviceptr reserve(std::uint64_t bytes = kSize) {
    CUdeviceptr pointer = 0;
    const CUresult result = CU(cuMemAddressReserve)(&pointer, bytes, 0, 0, 0);
    skip_when_unsupported(result, "cuMemAddressReserve");
    CHECK_OK(result);
    return pointer;
}

CUmemoryPool make_pool() {
    CUmemPoolProps props{};
    props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    props.handleTypes = 1;  // POSIX file descriptor
    props.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0};
    CUmemoryPool pool = nullptr;
    const CUresult result = CU(cuMemPoolCreate)(&pool, &props);
    skip_when_unsupported(result, "cuMemPoolCreate");
    CHECK_OK(result);
    return pool;
}

}  // namespace

void mapped_memory_stays_counted_without_its_handle() {
    start_cuda();
    const std::uint64_t before = counted();
    const CUmemGenericAllocationHandle handle = create();
    const CUdeviceptr at = reserve();
    CHECK_EQ(counted(), before + kSize);  // address space is free
    CHECK_OK(CU(cuMemMap)(at, kSize, 0, handle, 0));
    CHECK_OK(CU(cuMemRelease)(handle));  // as PyTorch and NCCL do at once
    CHECK_EQ(counted(), before + kSize);
    CHECK_OK(CU(cuMemUnmap)(at, kSize));
    CHECK_EQ(counted(), before);
    CHECK_OK(CU(cuMemAddressFree)(at, kSize));
    check_sums();
}

void unmapped_memory_stays_counted_with_its_handle() {
    start_cuda();
    const std::uint64_t before = counted();
    const CUmemGenericAllocationHandle handle = create();
    const CUdeviceptr at = reserve();
    CHECK_OK(CU(cuMemMap)(at, kSize, 0, handle, 0));
    CHECK_OK(CU(cuMemUnmap)(at, kSize));
    CHECK_EQ(counted(), before + kSize);
    CHECK_OK(CU(cuMemRelease)(handle));
    CHECK_EQ(counted(), before);
    CHECK_OK(CU(cuMemAddressFree)(at, kSize));
}

void memory_mapped_twice_goes_with_the_last_mapping() {
    start_cuda();
    const std::uint64_t before = counted();
    const CUmemGenericAllocationHandle handle = create();
    const CUdeviceptr at = reserve(2 * kSize);
    CHECK_OK(CU(cuMemMap)(at, kSize, 0, handle, 0));
    const CUresult second = CU(cuMemMap)(at + kSize, kSize, 0, handle, 0);
    CHECK_OK(CU(cuMemRelease)(handle));
    CHECK_OK(CU(cuMemUnmap)(at, kSize));
    if (second == CUDA_SUCCESS) {
        CHECK_EQ(counted(), before + kSize);
        CHECK_OK(CU(cuMemUnmap)(at + kSize, kSize));
    }
    CHECK_EQ(counted(), before);
}

void one_unmap_for_several_mappings() {
    start_cuda();
    const std::uint64_t before = counted();
    const CUdeviceptr at = reserve(3 * kSize);
    for (unsigned i = 0; i < 3; ++i) {  // segments that grow, as expandable ones do
        const CUmemGenericAllocationHandle handle = create();
        CHECK_OK(CU(cuMemMap)(at + i * kSize, kSize, 0, handle, 0));
        CHECK_OK(CU(cuMemRelease)(handle));
    }
    CHECK_EQ(counted(), before + 3 * kSize);
    const CUresult all = CU(cuMemUnmap)(at, 3 * kSize);
    if (all != CUDA_SUCCESS) {  // this driver wants them one by one
        for (unsigned i = 0; i < 3; ++i) CHECK_OK(CU(cuMemUnmap)(at + i * kSize, kSize));
    }
    CHECK_EQ(counted(), before);
}

void a_retained_handle_keeps_its_memory() {
    start_cuda();
    const std::uint64_t before = counted();
    const CUmemGenericAllocationHandle handle = create();
    const CUdeviceptr at = reserve();
    CHECK_OK(CU(cuMemMap)(at, kSize, 0, handle, 0));
    CUmemGenericAllocationHandle again = 0;
    const CUresult retained =
        CU(cuMemRetainAllocationHandle)(&again, reinterpret_cast<void*>(at + 4096));
    skip_when_unsupported(retained, "cuMemRetainAllocationHandle");
    CHECK_OK(retained);
    CHECK_OK(CU(cuMemRelease)(handle));
    CHECK_OK(CU(cuMemUnmap)(at, kSize));
    CHECK_EQ(counted(), before + kSize);
    CHECK_OK(CU(cuMemRelease)(again));
    CHECK_EQ(counted(), before);
    CHECK_OK(CU(cuMemAddressFree)(at, kSize));
}

void failed_calls_of_memory_management_change_nothing() {
    start_cuda();
    const CUmemGenericAllocationHandle handle = create();
    const std::uint64_t before = counted();
    CHECK_EQ(CU(cuMemRelease)(handle + 0x123456), BARE(cuMemRelease)(handle + 0x123456));
    CHECK_EQ(CU(cuMemUnmap)(0x1000, kSize), BARE(cuMemUnmap)(0x1000, kSize));
    CHECK_EQ(CU(cuMemMap)(0x1000, kSize, 0, handle, 0),
             BARE(cuMemMap)(0x1000, kSize, 0, handle, 0));
    const CUmemAllocationProp nowhere = memory_on(CU_MEM_LOCATION_TYPE_DEVICE, 77);
    CUmemGenericAllocationHandle none = 0;
    CHECK_EQ(CU(cuMemCreate)(&none, kSize, &nowhere, 0),
             BARE(cuMemCreate)(&none, kSize, &nowhere, 0));
    const CUmemAllocationProp here = memory_on(CU_MEM_LOCATION_TYPE_DEVICE, 0);
    CHECK_EQ(CU(cuMemCreate)(&none, 12345, &here, 0), BARE(cuMemCreate)(&none, 12345, &here, 0));
    CHECK_EQ(counted(), before);
    CHECK_OK(CU(cuMemRelease)(handle));
}

void memory_of_the_host_is_created_uncounted() {
    start_cuda();
    const std::uint64_t before = counted();
    for (const int type : {CU_MEM_LOCATION_TYPE_HOST, CU_MEM_LOCATION_TYPE_HOST_NUMA,
                           CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT}) {
        // The id is a NUMA node or nothing at all; it must never be taken for a GPU.
        for (const int id : {0, -1, 0x7fffffff}) {
            const CUmemAllocationProp prop = memory_on(type, id);
            CUmemGenericAllocationHandle bare_handle = 0;
            CUmemGenericAllocationHandle handle = 0;
            const CUresult bare = BARE(cuMemCreate)(&bare_handle, kSize, &prop, 0);
            if (bare == CUDA_SUCCESS) CHECK_OK(BARE(cuMemRelease)(bare_handle));
            CHECK_EQ(CU(cuMemCreate)(&handle, kSize, &prop, 0), bare);
            CHECK_EQ(counted(), before);
            if (bare == CUDA_SUCCESS) CHECK_OK(CU(cuMemRelease)(handle));
            CHECK_EQ(counted(), before);
        }
    }
}

void imported_memory_belongs_to_its_maker() {
    start_cuda();
    CUmemAllocationProp prop = memory_on(CU_MEM_LOCATION_TYPE_DEVICE, 0);
    prop.requestedHandleTypes = 1;
    CUmemGenericAllocationHandle handle = 0;
    const CUresult made = CU(cuMemCreate)(&handle, kSize, &prop, 0);
    skip_when_unsupported(made, "memory to share");
    CHECK_OK(made);
    const std::uint64_t before = counted();
    int descriptor = -1;
    const CUresult exported = CU(cuMemExportToShareableHandle)(&descriptor, handle, 1, 0);
    skip_when_unsupported(exported, "cuMemExportToShareableHandle");
    CHECK_OK(exported);
    CUmemGenericAllocationHandle imported = 0;
    const CUresult result = CU(cuMemImportFromShareableHandle)(
        &imported, reinterpret_cast<void*>(static_cast<std::intptr_t>(descriptor)), 1);
    skip_when_unsupported(result, "cuMemImportFromShareableHandle");
    CHECK_OK(result);
    CHECK_EQ(counted(), before);
    CHECK_OK(CU(cuMemRelease)(imported));
    CHECK_EQ(counted(), before);
    CHECK_OK(CU(cuMemRelease)(handle));
    CHECK_EQ(counted(), before);  // the descriptor keeps it
    ::close(descriptor);
    (void)memory_view();
    CHECK_EQ(counted(), before - kSize);
}

void memory_of_another_process_is_not_ours() {
    start_cuda();
    CUdeviceptr pointer = 0;
    CHECK_OK(CU(cuMemAlloc_v2)(&pointer, kSize));
    CUipcMemHandle handle{};
    const CUresult result = CU(cuIpcGetMemHandle)(&handle, pointer);
    skip_when_unsupported(result, "cuIpcGetMemHandle");
    CHECK_OK(result);
    const std::uint64_t before = counted();
    CUdeviceptr opened = 0;
    // Real drivers refuse it in the same process; the answer must be theirs and nothing changes.
    const CUresult bare = BARE(cuIpcOpenMemHandle_v2)(&opened, handle, 1);
    if (bare == CUDA_SUCCESS) CHECK_OK(BARE(cuIpcCloseMemHandle)(opened));
    CHECK_EQ(CU(cuIpcOpenMemHandle_v2)(&opened, handle, 1), bare);
    CHECK_EQ(counted(), before);
    if (bare == CUDA_SUCCESS) CHECK_OK(CU(cuIpcCloseMemHandle)(opened));
    CHECK_EQ(counted(), before);
    CHECK_OK(CU(cuMemFree_v2)(pointer));
}

void what_a_pool_keeps_is_counted() {
    start_cuda();
    const std::uint64_t before = counted();
    const CUmemoryPool pool = make_pool();
    cuuint64_t keep_all = ~cuuint64_t{0};
    CHECK_OK(CU(cuMemPoolSetAttribute)(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep_all));
    std::vector<CUdeviceptr> all(8);
    for (CUdeviceptr& pointer : all)
        CHECK_OK(CU(cuMemAllocFromPoolAsync)(&pointer, kSize, pool, work_stream()));
    CHECK_GE(counted(), before + 8 * kSize);
    for (const CUdeviceptr pointer : all) CHECK_OK(CU(cuMemFreeAsync)(pointer, work_stream()));
    CHECK_OK(CU(cuStreamSynchronize)(work_stream()));
    cuuint64_t reserved = 0;
    CHECK_OK(CU(cuMemPoolGetAttribute)(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &reserved));
    CHECK_GE(counted() - before, reserved);  // freed, but the pool still has it
    CHECK_OK(CU(cuMemPoolTrimTo)(pool, 0));
    CHECK_EQ(counted(), before);
    CHECK_OK(CU(cuMemAllocFromPoolAsync)(all.data(), kSize, pool, work_stream()));
    CHECK_OK(CU(cuMemFreeAsync)(all[0], work_stream()));
    CHECK_OK(CU(cuStreamSynchronize)(work_stream()));
    CHECK_OK(CU(cuMemPoolDestroy)(pool));
    CHECK_EQ(counted(), before);
}

void a_pool_uses_its_own_memory_again() {
    start_cuda();
    const CUmemoryPool pool = make_pool();
    cuuint64_t keep_all = ~cuuint64_t{0};
    CHECK_OK(CU(cuMemPoolSetAttribute)(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep_all));
    CUdeviceptr pointer = 0;
    CHECK_OK(CU(cuMemAllocFromPoolAsync)(&pointer, kSize, pool, work_stream()));
    const std::uint64_t most = counted();
    for (int i = 0; i < 200; ++i) {
        CHECK_OK(CU(cuMemFreeAsync)(pointer, work_stream()));
        CHECK_OK(CU(cuStreamSynchronize)(work_stream()));
        CHECK_OK(CU(cuMemAllocFromPoolAsync)(&pointer, kSize, pool, work_stream()));
        CHECK_LE(counted(), most + 32 * kMi);
    }
    CHECK_OK(CU(cuMemFreeAsync)(pointer, work_stream()));
    CHECK_OK(CU(cuStreamSynchronize)(work_stream()));
    CHECK_OK(CU(cuMemPoolDestroy)(pool));
}

void a_pool_from_elsewhere_is_not_counted() {
    start_cuda();
    const CUmemoryPool pool = make_pool();
    CUdeviceptr pointer = 0;
    CHECK_OK(CU(cuMemAllocFromPoolAsync)(&pointer, kSize, pool, work_stream()));
    CHECK_OK(CU(cuStreamSynchronize)(work_stream()));
    int descriptor = -1;
    const CUresult exported = CU(cuMemPoolExportToShareableHandle)(&descriptor, pool, 1, 0);
    skip_when_unsupported(exported, "cuMemPoolExportToShareableHandle");
    CHECK_OK(exported);
    const std::uint64_t before = counted();
    CUmemoryPool imported = nullptr;
    const CUresult result = CU(cuMemPoolImportFromShareableHandle)(
        &imported, reinterpret_cast<void*>(static_cast<std::intptr_t>(descriptor)), 1, 0);
    skip_when_unsupported(result, "cuMemPoolImportFromShareableHandle");
    CHECK_OK(result);
    CUmemPoolPtrExportData data{};
    CHECK_OK(CU(cuMemPoolExportPointer)(&data, pointer));
    CUdeviceptr shared = 0;
    CHECK_OK(CU(cuMemPoolImportPointer)(&shared, imported, &data));
    CHECK_EQ(counted(), before);
    (void)CU(cuMemFreeAsync)(shared, work_stream());
    CHECK_OK(CU(cuStreamSynchronize)(work_stream()));
    CHECK_GE(counted() + 2 * kMi, before);
    ::close(descriptor);
}

void a_graph_that_does_not_fit_is_not_launched() {
    start_cuda();
    CUgraph graph = nullptr;
    const CUresult made = CU(cuGraphCreate)(&graph, 0);
    skip_when_unsupported(made, "cuGraphCreate");
    CHECK_OK(made);
    CUDA_MEM_ALLOC_NODE_PARAMS params{};
    params.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    params.poolProps.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0};
    params.bytesize = 2 * kGi;  // the limit is 1 GiB
    CUgraphNode node = nullptr;
    const CUresult added = CU(cuGraphAddMemAllocNode)(&node, graph, nullptr, 0, &params);
    skip_when_unsupported(added, "cuGraphAddMemAllocNode");
    CUresult result = added;
    CUgraphExec exec = nullptr;
    if (result == CUDA_SUCCESS) result = CU(cuGraphInstantiateWithFlags)(&exec, graph, 0);
    if (result == CUDA_SUCCESS) result = CU(cuGraphLaunch)(exec, work_stream());
    CHECK_EQ(result, CUDA_ERROR_OUT_OF_MEMORY);
    CHECK_OK(CU(cuStreamSynchronize)(work_stream()));
    check_physical(kGi);
}

void memory_bound_to_a_multicast_object_is_counted() {
    constexpr std::uint64_t kPiece = 128 * kMi;
    constexpr unsigned kTries = 8;  // with a context beside them not all fit
    start_cuda();
    const std::uint64_t base = physical_used();
    const std::uint64_t before = counted();
    const auto is_in_the_books = [&](std::uint64_t bytes) {
        (void)memory_view();
        CHECK_EQ(physical_used() - base, bytes);
        CHECK_EQ(counted() - before, bytes);
    };
    CUmulticastObjectProp wanted{};
    wanted.numDevices = 1;
    wanted.size = kTries * kPiece;
    CUmemGenericAllocationHandle object = 0;
    const CUresult made = CU(cuMulticastCreate)(&object, &wanted);
    skip_when_unsupported(made, "cuMulticastCreate");
    CHECK_OK(made);
    CHECK_OK(CU(cuMulticastAddDevice)(object, 0));
    const CUmemAllocationProp prop = memory_on(CU_MEM_LOCATION_TYPE_DEVICE, 0);
    unsigned fit = 0;
    for (unsigned i = 0; i < kTries; ++i) {
        CUmemGenericAllocationHandle handle = 0;
        const CUresult result = CU(cuMemCreate)(&handle, kPiece, &prop, 0);
        if (result != CUDA_SUCCESS) CHECK_EQ(result, CUDA_ERROR_OUT_OF_MEMORY);
        if (result != CUDA_SUCCESS) continue;
        CHECK_EQ(i, fit);  // once there is no room, there is none
        CHECK_OK(CU(cuMulticastBindMem)(object, i * kPiece, handle, 0, kPiece, 0));
        CHECK_OK(CU(cuMemRelease)(handle));  // what is bound lives on
        is_in_the_books(++fit * kPiece);
    }
    CHECK_GT(fit, 1U);
    CHECK_LT(fit, kTries);
    CHECK_OK(CU(cuMulticastUnbind)(object, 0, 0, kPiece));
    is_in_the_books((fit - 1) * kPiece);
    CHECK_OK(CU(cuMemRelease)(object));
    is_in_the_books(0);
}

}  // namespace aliquot::guardkit::checks
