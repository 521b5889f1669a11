// SPDX-License-Identifier: Apache-2.0
//
// Random programs of many threads. Whenever all rest, the books are what the driver holds; never is
// it beyond the limit by more than the piece by which a pool of the driver grows, and never do the
// books say so.
#include <unistd.h>

#include <atomic>
#include <random>
#include <thread>
#include <vector>

#include "tests/contract/guard/counting.h"
#include "tests/contract/guard/kinds.h"

namespace aliquot::guardkit::checks {
namespace {

constexpr int kThreads = 6;
constexpr int kRounds = 12;
constexpr int kSteps = 250;
constexpr std::uint64_t kGranule = 32 * kMi;

/// One thread's part: everything that it holds, and one random step at a time.
class Program {
public:
    Program(CUcontext context, unsigned seed) : random_(seed) {
        CHECK_OK(CU(cuCtxSetCurrent)(context));
        CHECK_OK(CU(cuStreamCreate)(&stream_, CU_STREAM_NON_BLOCKING));
        CUmemPoolProps props{};
        props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
        props.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0};
        const CUresult made = CU(cuMemPoolCreate)(&pool_, &props);
        skip_when_unsupported(made, "cuMemPoolCreate");
        CHECK_OK(made);
        if (below(2) == 0) {
            cuuint64_t keep_all = ~cuuint64_t{0};
            CHECK_OK(
                CU(cuMemPoolSetAttribute)(pool_, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep_all));
        }
    }

    void step() {
        switch (below(12)) {
            case 0:
                return allocate(plain_, [&](auto* p) { return CU(cuMemAlloc_v2)(p, bytes()); });
            case 1:
                return take(plain_, [](CUdeviceptr p) { CHECK_OK(CU(cuMemFree_v2)(p)); });
            case 2:
                return allocate(pooled_,
                                [&](auto* p) { return CU(cuMemAllocAsync)(p, bytes(), stream_); });
            case 3:
                return allocate(pooled_, [&](auto* p) {
                    return CU(cuMemAllocFromPoolAsync)(p, bytes(), pool_, stream_);
                });
            case 4:
            case 5:
                return take(pooled_,
                            [&](CUdeviceptr p) { CHECK_OK(CU(cuMemFreeAsync)(p, stream_)); });
            case 6:
                return allocate(handles_, [&](auto* h) { return create(h); });
            case 7:
                return take(handles_, [](auto h) { CHECK_OK(CU(cuMemRelease)(h)); });
            case 8:
                return take(handles_, [&](auto h) { pass_on(h); });
            case 9:
                return run_graph();
            case 10:
                return take(execs_, [](CUgraphExec e) { CHECK_OK(CU(cuGraphExecDestroy)(e)); });
            default:
                return wait();
        }
    }

    void end() {
        while (!plain_.empty()) take(plain_, [](auto p) { CHECK_OK(CU(cuMemFree_v2)(p)); });
        while (!pooled_.empty())
            take(pooled_, [&](auto p) { CHECK_OK(CU(cuMemFreeAsync)(p, stream_)); });
        while (!handles_.empty()) take(handles_, [](auto h) { CHECK_OK(CU(cuMemRelease)(h)); });
        CHECK_OK(CU(cuStreamSynchronize)(stream_));
        while (!execs_.empty()) take(execs_, [](auto e) { CHECK_OK(CU(cuGraphExecDestroy)(e)); });
        CHECK_OK(CU(cuMemPoolDestroy)(pool_));
        CHECK_OK(CU(cuStreamDestroy_v2)(stream_));
    }

private:
    unsigned below(unsigned end) { return static_cast<unsigned>(random_() % end); }
    /// More than 1 MiB: what is smaller shares blocks of the driver, which it holds while one is used.
    std::size_t bytes() { return (2 + below(40)) * kMi; }

    template <class Handle, class Make>
    void allocate(std::vector<Handle>& all, Make make) {
        Handle made{};
        const CUresult result = make(&made);
        if (result == CUDA_SUCCESS) all.push_back(made);
        if (result != CUDA_SUCCESS) CHECK_EQ(result, CUDA_ERROR_OUT_OF_MEMORY);
    }
    template <class Handle, class Give>
    void take(std::vector<Handle>& all, Give give) {
        if (all.empty()) return;
        const std::size_t at = below(static_cast<unsigned>(all.size()));
        const Handle one = all[at];
        all[at] = all.back();
        all.pop_back();
        give(one);
    }
    CUresult create(CUmemGenericAllocationHandle* handle) {
        CUmemAllocationProp prop{};
        prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
        prop.requestedHandleTypes = 1;
        prop.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0};
        return CU(cuMemCreate)(handle, (1 + below(20)) * 2 * kMi, &prop, 0);
    }
    /// Exports, releases, imports.
    void pass_on(CUmemGenericAllocationHandle handle) {
        int descriptor = -1;
        CHECK_OK(CU(cuMemExportToShareableHandle)(&descriptor, handle, 1, 0));
        CHECK_OK(CU(cuMemRelease)(handle));
        allocate(handles_, [&](auto* h) {
            return CU(cuMemImportFromShareableHandle)(
                h, reinterpret_cast<void*>(static_cast<std::intptr_t>(descriptor)), 1);
        });
        ::close(descriptor);
    }
    void run_graph() {
        if (!execs_.empty() && below(3) == 0) return run(execs_[below(execs())]);
        CUgraph graph = nullptr;
        CHECK_OK(CU(cuGraphCreate)(&graph, 0));
        CUDA_MEM_ALLOC_NODE_PARAMS params{};
        params.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
        params.poolProps.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0};
        params.bytesize = bytes();
        CUgraphNode node = nullptr;
        CUgraphNode freed = nullptr;
        CHECK_OK(CU(cuGraphAddMemAllocNode)(&node, graph, nullptr, 0, &params));
        CHECK_OK(CU(cuGraphAddMemFreeNode)(&freed, graph, &node, 1, params.dptr));
        allocate(execs_, [&](auto* e) { return CU(cuGraphInstantiateWithFlags)(e, graph, 0); });
        run(execs_.back());
        CHECK_OK(CU(cuGraphDestroy)(graph));
    }
    unsigned execs() const { return static_cast<unsigned>(execs_.size()); }
    void run(CUgraphExec exec) {
        const CUresult result =
            below(2) == 0 ? CU(cuGraphLaunch)(exec, stream_) : CU(cuGraphUpload)(exec, stream_);
        if (result != CUDA_SUCCESS) CHECK_EQ(result, CUDA_ERROR_OUT_OF_MEMORY);
    }
    void wait() {
        if (below(8) == 0) CHECK_OK(CU(cuStreamSynchronize)(stream_));
        if (below(16) == 0) CHECK_OK(CU(cuDeviceGraphMemTrim)(0));
        if (below(16) == 0) CHECK_OK(CU(cuMemPoolTrimTo)(pool_, 0));
        if (below(8) == 0) (void)memory_view();
    }

    std::mt19937 random_;
    CUstream stream_ = nullptr;
    CUmemoryPool pool_ = nullptr;
    std::vector<CUdeviceptr> plain_;
    std::vector<CUdeviceptr> pooled_;
    std::vector<CUmemGenericAllocationHandle> handles_;
    std::vector<CUgraphExec> execs_;
};

}  // namespace

void random_programs_leave_the_books_right() {
    (void)physical_base();
    const CUcontext context = start_cuda();
    const std::uint64_t base = physical_used();
    const auto seed = static_cast<unsigned>(environment_number("ALIQUOT_GUARD_KIT_SEED", 0));
    for (unsigned round = 0; round < kRounds; ++round) {
        std::vector<std::thread> threads;
        std::atomic<unsigned> running{kThreads};
        for (unsigned i = 0; i < kThreads; ++i)
            threads.emplace_back([&, i] {
                Program program(context, seed * 100'000 + round * 1000 + i);
                for (int step = 0; step < kSteps; ++step) program.step();
                program.end();
                --running;
            });
        while (running != 0) check_physical(kGi + kGranule);
        for (std::thread& thread : threads) thread.join();
        (void)memory_view();
        CHECK_EQ(counted(), physical_used() - base);
        check_sums();
        check_peak(kGi + kGranule);
    }
}

}  // namespace aliquot::guardkit::checks
