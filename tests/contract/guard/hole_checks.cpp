// SPDX-License-Identifier: Apache-2.0
//
// Documented ways to hold memory that no allocation call shows: pools with several streams, graphs,
// exported memory, resets. Each takes 384 MiB at a time under a limit of 1 GiB, and what the driver
// itself says is held never goes beyond.
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

#include "tests/contract/guard/counting.h"
#include "tests/contract/guard/kinds.h"

namespace aliquot::guardkit::checks {
namespace {

constexpr std::uint64_t kLimit = kGi;
constexpr std::uint64_t kPiece = 384 * kMi;
constexpr int kTries = 6;  // only two fit

CUstream new_stream() {
    CUstream stream = nullptr;
    CHECK_OK(CU(cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING));
    return stream;
}

/// What this process holds of the GPU by the driver, without its context.
std::uint64_t held() {
    static const std::uint64_t base = physical_used();
    return physical_used() - base;
}

void start_limited() {
    start_cuda();
    CHECK_EQ(held(), 0U);
}

/// The books are what the driver holds; asked through the view, which makes the guard look.
void check_books() {
    (void)memory_view();
    CHECK_EQ(counted(), held());
    check_sums();
}

CUmemGenericAllocationHandle create_exportable() {
    CUmemAllocationProp prop{};
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.requestedHandleTypes = 1;
    prop.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0};
    CUmemGenericAllocationHandle handle = 0;
    const CUresult result = CU(cuMemCreate)(&handle, kPiece, &prop, 0);
    skip_when_unsupported(result, "memory to share");
    return result == CUDA_SUCCESS ? handle : 0;
}

int export_to_file(CUmemGenericAllocationHandle handle) {
    int descriptor = -1;
    const CUresult result = CU(cuMemExportToShareableHandle)(&descriptor, handle, 1, 0);
    skip_when_unsupported(result, "cuMemExportToShareableHandle");
    CHECK_OK(result);
    return descriptor;
}

CUresult import_from_file(CUmemGenericAllocationHandle& handle, int descriptor) {
    return CU(cuMemImportFromShareableHandle)(
        &handle, reinterpret_cast<void*>(static_cast<std::intptr_t>(descriptor)), 1);
}

/// A graph with one allocation, added as a node.
CUgraph graph_with_memory() {
    CUgraph graph = nullptr;
    CHECK_OK(CU(cuGraphCreate)(&graph, 0));
    CUDA_MEM_ALLOC_NODE_PARAMS params{};
    params.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    params.poolProps.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0};
    params.bytesize = kPiece;
    CUgraphNode node = nullptr;
    const CUresult added = CU(cuGraphAddMemAllocNode)(&node, graph, nullptr, 0, &params);
    skip_when_unsupported(added, "cuGraphAddMemAllocNode");
    CHECK_OK(added);
    CUgraphNode freed = nullptr;
    CHECK_OK(CU(cuGraphAddMemFreeNode)(&freed, graph, &node, 1, params.dptr));
    return graph;
}

/// Makes graphs by `make`, and runs them by `run`, until all tries are over: two fit. Then all are
/// destroyed, and nothing is left.
template <class Make, class Run>
void graphs_stay_within_the_limit(Make make, Run run) {
    start_limited();
    std::vector<CUgraphExec> execs;
    std::vector<CUgraph> graphs;
    int granted = 0;
    for (int i = 0; i < kTries; ++i) {
        graphs.push_back(make());
        CUgraphExec exec = nullptr;
        const CUresult result = run(&exec, graphs.back());
        if (exec != nullptr) execs.push_back(exec);
        granted += result == CUDA_SUCCESS ? 1 : 0;
        if (result != CUDA_SUCCESS) CHECK_EQ(result, CUDA_ERROR_OUT_OF_MEMORY);
        CHECK_LE(held(), kLimit);
    }
    CHECK_GE(granted, 2);
    check_books();
    CHECK_OK(CU(cuStreamSynchronize)(work_stream()));
    for (CUgraphExec exec : execs) CHECK_OK(CU(cuGraphExecDestroy)(exec));
    for (CUgraph graph : graphs) CHECK_OK(CU(cuGraphDestroy)(graph));
    CHECK_OK(CU(cuDeviceGraphMemTrim)(0));
    CHECK_EQ(held(), 0U);
    check_books();
}

CUresult launch(CUgraphExec* exec, CUgraph graph) {
    const CUresult made = CU(cuGraphInstantiateWithFlags)(exec, graph, 0);
    return made == CUDA_SUCCESS ? CU(cuGraphLaunch)(*exec, work_stream()) : made;
}

}  // namespace

void streams_of_their_own_share_the_limit() {
    start_limited();
    for (int i = 0; i < kTries; ++i) {
        CUstream stream = new_stream();
        CUdeviceptr pointer = 0;
        // What other streams freed is waited for: each gets its memory, never beyond the limit.
        const CUresult result = CU(cuMemAllocAsync)(&pointer, kPiece, stream);
        skip_when_unsupported(result, "cuMemAllocAsync");
        CHECK_OK(result);
        CHECK_LE(held(), kLimit);
        CHECK_OK(CU(cuMemFreeAsync)(pointer, stream));
    }
    CHECK_OK(CU(cuCtxSynchronize)());
    check_books();
}

void a_stream_gets_again_what_it_freed() {
    start_limited();
    CUmemoryPool pool = nullptr;
    CHECK_OK(CU(cuDeviceGetDefaultMemPool)(&pool, 0));
    cuuint64_t keep_all = ~cuuint64_t{0};
    CHECK_OK(CU(cuMemPoolSetAttribute)(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep_all));
    for (int i = 0; i < 100; ++i) {  // most of the limit is the pool's all the time
        CUdeviceptr pointer = 0;
        CHECK_OK(CU(cuMemAllocAsync)(&pointer, 768 * kMi, work_stream()));
        CHECK_LE(held(), kLimit);
        CHECK_OK(CU(cuMemFreeAsync)(pointer, work_stream()));
    }
    // What the pool keeps is in nobody's way.
    CUdeviceptr plain = 0;
    CHECK_OK(CU(cuMemAlloc_v2)(&plain, 768 * kMi));
    CHECK_LE(held(), kLimit);
    CHECK_OK(CU(cuMemFree_v2)(plain));
    CHECK_OK(CU(cuMemPoolTrimTo)(pool, 0));
    check_books();
}

void any_number_of_pools_is_counted() {
    start_limited();
    CUmemPoolProps props{};
    props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    props.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0};
    std::vector<CUmemoryPool> pools(600);
    for (CUmemoryPool& pool : pools) {
        const CUresult made = CU(cuMemPoolCreate)(&pool, &props);
        skip_when_unsupported(made, "cuMemPoolCreate");
        CHECK_OK(made);
        CUdeviceptr pointer = 0;
        const CUresult result =
            CU(cuMemAllocFromPoolAsync)(&pointer, 64 * kMi, pool, work_stream());
        if (result != CUDA_SUCCESS) CHECK_EQ(result, CUDA_ERROR_OUT_OF_MEMORY);
    }
    CHECK_LE(held(), kLimit);
    CHECK_GE(held(), kLimit - 256 * kMi);  // the context counts, too
    check_books();
}

void memory_is_charged_to_the_device_of_its_stream() {
    start_cuda(1);
    CUstream stream = new_stream();
    start_cuda(0);
    CUdeviceptr pointer = 0;
    const CUresult result = CU(cuMemAllocAsync)(&pointer, 700 * kMi, stream);
    skip_when_unsupported(result, "cuMemAllocAsync");
    CHECK_OK(result);
    CHECK_EQ(counted(0), 0U);
    CHECK_GE(counted(1), 700 * kMi);
    start_cuda(1);
    CUdeviceptr more = 0;
    CHECK_EQ(CU(cuMemAlloc_v2)(&more, 800 * kMi), CUDA_ERROR_OUT_OF_MEMORY);
    start_cuda(0);
    CHECK_OK(CU(cuMemAlloc_v2)(&more, 800 * kMi));
}

void pools_of_the_host_are_no_memory_of_a_gpu() {
    start_limited();
    CUmemLocation host{.type = CU_MEM_LOCATION_TYPE_HOST, .id = 0};
    for (const int type : {CU_MEM_ALLOCATION_TYPE_PINNED, CU_MEM_ALLOCATION_TYPE_MANAGED}) {
        CUmemoryPool pool = nullptr;
        const CUresult found = CU(cuMemGetDefaultMemPool)(&pool, &host, type);
        skip_when_unsupported(found, "cuMemGetDefaultMemPool");
        CHECK_OK(found);
        CUdeviceptr pointer = 0;
        CHECK_OK(CU(cuMemAllocFromPoolAsync)(&pointer, 2 * kGi, pool, work_stream()));
        check_books();
        CHECK_OK(CU(cuMemFreeAsync)(pointer, work_stream()));
    }
    CUmemPoolProps props{};
    props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    props.location = host;
    CUmemoryPool own = nullptr;
    CHECK_OK(CU(cuMemPoolCreate)(&own, &props));
    CUdeviceptr pointer = 0;
    CHECK_OK(CU(cuMemAllocFromPoolAsync)(&pointer, 2 * kGi, own, work_stream()));
    CHECK_EQ(counted(), 0U);
    CHECK_OK(CU(cuMemFreeAsync)(pointer, work_stream()));
    CHECK_OK(CU(cuMemPoolDestroy)(own));
}

void a_reset_takes_pools_and_graphs_along() {
    start_limited();
    for (int i = 0; i < 3; ++i) {
        CUdeviceptr pointer = 0;
        CHECK_OK(CU(cuMemAllocAsync)(&pointer, kPiece, nullptr));
        CUgraphExec exec = nullptr;
        CHECK_OK(CU(cuGraphInstantiateWithFlags)(&exec, graph_with_memory(), 0));
        CHECK_OK(CU(cuGraphLaunch)(exec, nullptr));
        CHECK_GE(counted(), 2 * kPiece);
        const CUresult reset = CU(cuDevicePrimaryCtxReset_v2)(0);
        CHECK_OK(reset);
        CHECK_EQ(counted(), 0U);
        start_cuda();
    }
    check_books();
}

void uploaded_graphs_are_counted() {
    graphs_stay_within_the_limit(graph_with_memory, [](CUgraphExec* exec, CUgraph graph) {
        const CUresult made = CU(cuGraphInstantiateWithFlags)(exec, graph, 0);
        return made == CUDA_SUCCESS ? CU(cuGraphUpload)(*exec, work_stream()) : made;
    });
}

void graphs_uploaded_when_they_are_made_are_counted() {
    graphs_stay_within_the_limit(graph_with_memory, [](CUgraphExec* exec, CUgraph graph) {
        CUDA_GRAPH_INSTANTIATE_PARAMS params{};
        params.flags = 2;  // CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD
        params.hUploadStream = work_stream();
        const CUresult made = CU(cuGraphInstantiateWithParams)(exec, graph, &params);
        if (made != CUDA_SUCCESS) *exec = nullptr;
        return made;
    });
}

void captures_into_a_graph_are_counted() {
    graphs_stay_within_the_limit(
        [] {
            CUgraph graph = nullptr;
            CHECK_OK(CU(cuGraphCreate)(&graph, 0));
            const CUresult begun = CU(cuStreamBeginCaptureToGraph)(
                work_stream(), graph, nullptr, nullptr, 0, CU_STREAM_CAPTURE_MODE_GLOBAL);
            skip_when_unsupported(begun, "cuStreamBeginCaptureToGraph");
            CHECK_OK(begun);
            CUdeviceptr pointer = 0;
            CHECK_OK(CU(cuMemAllocAsync)(&pointer, kPiece, work_stream()));
            CHECK_OK(CU(cuMemFreeAsync)(pointer, work_stream()));
            CUgraph captured = nullptr;
            CHECK_OK(CU(cuStreamEndCapture)(work_stream(), &captured));
            CHECK_EQ(captured, graph);
            return graph;
        },
        launch);
}

void memory_of_child_graphs_is_counted() {
    graphs_stay_within_the_limit(
        [] {
            CUgraph graph = nullptr;
            CHECK_OK(CU(cuGraphCreate)(&graph, 0));
            CUgraphNode node = nullptr;
            CUgraph child = graph_with_memory();
            const CUresult added = CU(cuGraphAddChildGraphNode)(&node, graph, nullptr, 0, child);
            skip_when_unsupported(added, "a child graph with memory");
            CHECK_OK(added);
            CHECK_OK(CU(cuGraphDestroy)(child));
            return graph;
        },
        launch);
}

void memory_of_cloned_graphs_is_counted() {
    graphs_stay_within_the_limit(
        [] {
            CUgraph original = graph_with_memory();
            CUgraph copy = nullptr;
            const CUresult cloned = CU(cuGraphClone)(&copy, original);
            skip_when_unsupported(cloned, "cuGraphClone");
            CHECK_OK(cloned);
            CHECK_OK(CU(cuGraphDestroy)(original));
            return copy;
        },
        launch);
}

void captures_into_a_graph_under_a_cap_are_not_disturbed() {
    start_cuda();
    for (int i = 0; i < 20; ++i) {
        CUgraph graph = nullptr;
        CHECK_OK(CU(cuGraphCreate)(&graph, 0));
        const CUresult begun = CU(cuStreamBeginCaptureToGraph)(
            work_stream(), graph, nullptr, nullptr, 0, CU_STREAM_CAPTURE_MODE_GLOBAL);
        skip_when_unsupported(begun, "cuStreamBeginCaptureToGraph");
        CHECK_OK(begun);
        CUgraph captured = nullptr;
        CHECK_OK(CU(cuStreamEndCapture)(work_stream(), &captured));
        CHECK_OK(CU(cuGraphDestroy)(graph));
    }
}

void exported_memory_lives_as_long_as_its_descriptor() {
    start_limited();
    std::vector<int> descriptors;
    for (int i = 0; i < kTries; ++i) {
        const CUmemGenericAllocationHandle handle = create_exportable();
        CHECK_LE(held(), kLimit);
        if (handle == 0) continue;
        descriptors.push_back(export_to_file(handle));
        CHECK_OK(CU(cuMemRelease)(handle));
        CUmemGenericAllocationHandle imported = 0;
        const int copy = ::dup(descriptors.back());  // any descriptor of it will do
        CHECK_OK(import_from_file(imported, copy));
        ::close(copy);
    }
    CHECK_EQ(descriptors.size(), std::size_t{2});
    check_books();
    CHECK_EQ(counted(), 2 * kPiece);
}

void exported_memory_goes_with_its_last_descriptor() {
    start_limited();
    for (int i = 0; i < kTries; ++i) {
        const CUmemGenericAllocationHandle handle = create_exportable();
        CHECK_NE(handle, 0U);
        const int descriptor = export_to_file(handle);
        CHECK_OK(CU(cuMemRelease)(handle));
        check_books();
        CHECK_EQ(counted(), kPiece);
        CUmemGenericAllocationHandle imported = 0;
        CHECK_OK(import_from_file(imported, descriptor));
        ::close(descriptor);
        check_books();
        CHECK_EQ(counted(), kPiece);
        CHECK_OK(CU(cuMemRelease)(imported));
        check_books();
        CHECK_EQ(counted(), 0U);
    }
}

void releasing_and_unmapping_at_once_gives_back_once() {
    start_limited();
    CUmemAllocationProp prop{};
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0};
    CUdeviceptr at = 0;
    const CUresult reserved = CU(cuMemAddressReserve)(&at, 64 * kMi, 0, 0, 0);
    skip_when_unsupported(reserved, "cuMemAddressReserve");
    CHECK_OK(reserved);
    for (int i = 0; i < 300; ++i) {
        CUmemGenericAllocationHandle kept = 0;
        CUmemGenericAllocationHandle handle = 0;
        CHECK_OK(CU(cuMemCreate)(&kept, 64 * kMi, &prop, 0));
        CHECK_OK(CU(cuMemCreate)(&handle, 64 * kMi, &prop, 0));
        CHECK_OK(CU(cuMemMap)(at, 64 * kMi, 0, handle, 0));
        std::atomic<int> ready{0};
        const auto meet = [&] {
            ++ready;
            while (ready < 2) {
            }
        };
        std::thread other([&] {
            meet();
            CHECK_OK(CU(cuMemRelease)(handle));
        });
        meet();
        CHECK_OK(CU(cuMemUnmap)(at, 64 * kMi));
        other.join();
        CHECK_EQ(counted(), 64 * kMi);
        CHECK_OK(CU(cuMemRelease)(kept));
        CHECK_EQ(counted(), 0U);
    }
    check_books();
}

}  // namespace aliquot::guardkit::checks
