// SPDX-License-Identifier: Apache-2.0
//
// Launches under a cap or a weight: always the driver's answers, never stuck. How large the shares
// are is measured by guard-share-meter; here only that a cap is one.
#include <signal.h>
#include <unistd.h>

#include <vector>

#include "abi/region.h"
#include "tests/contract/guard/containers.h"
#include "tests/contract/guard/counting.h"
#include "tests/contract/guard/kinds.h"
#include "tests/contract/guard/ledger_view.h"
#include "tests/contract/guard/spin.h"
#include "tests/contract/guard/worker.h"

namespace aliquot::guardkit::checks {
namespace {

CUfunction spin_kernel() {
    CUmodule module = nullptr;
    if (CU(cuModuleLoadData)(&module, kSimulatedSpin) != CUDA_SUCCESS)
        CHECK_OK(CU(cuModuleLoadData)(&module, kSpin));
    CUfunction function = nullptr;
    CHECK_OK(CU(cuModuleGetFunction)(&function, module, "spin"));
    return function;
}

/// Milliseconds that `count` kernels of a millisecond take.
std::uint64_t time_of(int count) {
    const CUfunction spin = spin_kernel();
    std::uint64_t nanoseconds = 1'000'000;
    void* arguments[] = {&nanoseconds};
    const auto launch_kernel = CU(cuLaunchKernel);
    const std::uint64_t began = now_ns();
    for (int i = 0; i < count; ++i) {
        CHECK_OK(launch_kernel(spin, 100, 1, 1, 1, 1, 1, 0, work_stream(), arguments, nullptr));
        if (i % 8 == 7) CHECK_OK(CU(cuStreamSynchronize)(work_stream()));
    }
    CHECK_OK(CU(cuStreamSynchronize)(work_stream()));
    return (now_ns() - began) / 1'000'000;
}

}  // namespace

void a_cap_holds_launches_back() {
    start_cuda();
    // 250 ms of work at 25 % take a second, less what a burst allows.
    CHECK_GE(time_of(250), 700U);
}

void a_cap_of_all_processes_together() {
    Worker first = started({});
    Worker second = started({});
    const std::uint64_t began = now_ns();
    for (int i = 0; i < 15; ++i) {
        for (Worker* one : {&first, &second}) CHECK_EQ(one->number(launch(8)), 0);
        for (Worker* one : {&first, &second}) CHECK_EQ(one->number("sync"), 0);
    }
    CHECK_GE((now_ns() - began) / 1'000'000, 650U);  // 240 ms at 25 %
}

void no_cap_holds_nothing_back() {
    start_cuda();
    (void)time_of(20);
    if (LedgerView::readable())
        CHECK_EQ(LedgerView::read().ledger().devices[0].throttled_ns.load(), 0U);
}

void wrong_launches_get_the_drivers_answer() {
    start_cuda();
    const CUfunction spin = spin_kernel();
    (void)time_of(4);
    for (const unsigned grid : {0U, 1U}) {
        for (const unsigned block : {0U, 1U, 100'000U}) {
            const CUresult bare = BARE(cuLaunchKernel)(spin, grid, 1, 1, block, 1, 1, 0,
                                                       work_stream(), nullptr, nullptr);
            CHECK_EQ(CU(cuLaunchKernel)(spin, grid, 1, 1, block, 1, 1, 0, work_stream(), nullptr,
                                        nullptr),
                     bare);
        }
    }
    CHECK_OK(CU(cuStreamSynchronize)(work_stream()));
    // What a driver does with no graph or no configuration, it does without us.
    CHECK_EQ(CU(cuGraphLaunch)(nullptr, work_stream()),
             BARE(cuGraphLaunch)(nullptr, work_stream()));
    CHECK_EQ(CU(cuLaunchKernelEx)(nullptr, spin, nullptr, nullptr),
             BARE(cuLaunchKernelEx)(nullptr, spin, nullptr, nullptr));
}

void a_weight_without_a_page_is_remarked() {
    start_cuda();
    CHECK_LE(time_of(20), 15'000U);
    CHECK_NE(LedgerView::read().remarks() & abi::kRemarkNoArbiter, 0U);
}

void capturing_is_not_disturbed() {
    // Marks of the guard's own in a capture would become nodes, waiting would end it.
    start_cuda();
    const CUfunction spin = spin_kernel();
    std::uint64_t nanoseconds = 100'000;
    void* arguments[] = {&nanoseconds};
    const auto launch_kernel = CU(cuLaunchKernel);
    (void)time_of(20);
    for (int round = 0; round < 5; ++round) {
        const CUresult begun =
            CU(cuStreamBeginCapture_v2)(work_stream(), CU_STREAM_CAPTURE_MODE_GLOBAL);
        skip_when_unsupported(begun, "cuStreamBeginCapture_v2");
        CHECK_OK(begun);
        for (int i = 0; i < 200; ++i)
            CHECK_OK(launch_kernel(spin, 1, 1, 1, 1, 1, 1, 0, work_stream(), arguments, nullptr));
        CUstreamCaptureStatus status = 0;
        CHECK_OK(CU(cuStreamIsCapturing)(work_stream(), &status));
        CHECK_EQ(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
        CUgraph graph = nullptr;
        const CUresult ended = CU(cuStreamEndCapture)(work_stream(), &graph);
        CHECK_OK(ended);
        std::size_t nodes = 0;
        const CUresult counted_nodes = CU(cuGraphGetNodes)(graph, nullptr, &nodes);
        if (counted_nodes == CUDA_SUCCESS) CHECK_EQ(nodes, 200U);
        CHECK_OK(CU(cuGraphDestroy)(graph));
    }
}

void a_neighbour_without_end_stops_nobody_for_long() {
    Worker endless = started(own_region("-endless", "70"));
    CHECK_EQ(endless.number(launch(1)), 0);
    CHECK_EQ(endless.number("sync"), 0);
    CHECK_EQ(endless.number(launch(60'000)), 0);  // and never looks at it
    Worker other = started(own_region("-other", "30"));
    const std::uint64_t began = now_ns();
    for (int i = 0; i < 4; ++i) CHECK_EQ(other.number(launch(1)), 0);
    CHECK_LT(now_ns() - began, 5'000'000'000ULL);  // 250 ms each is the most, on a quiet machine
}

void a_killed_holder_stops_nobody() {
    Worker other = started(own_region("-other", "30"));
    for (int round = 0; round < 5; ++round) {
        Worker holder = started(own_region("-holder", "70"));
        CHECK_EQ(holder.number(launch(5)), 0);
        holder.kill();
        const std::uint64_t began = now_ns();
        CHECK_EQ(other.number(launch(1)), 0);
        CHECK_EQ(other.number("sync"), 0);
        CHECK_LT(now_ns() - began, 5'000'000'000ULL);
    }
}

void a_stopped_holder_stops_nobody_for_long() {
    Worker other = started(own_region("-other", "30"));
    Worker holder = started(own_region("-holder", "70"));
    for (int round = 0; round < 3; ++round) {
        CHECK_EQ(holder.number(launch(5)), 0);
        holder.send_signal(SIGSTOP);
        const std::uint64_t began = now_ns();
        CHECK_EQ(other.number(launch(1)), 0);
        CHECK_LT(now_ns() - began, 5'000'000'000ULL);
        holder.send_signal(SIGCONT);
        CHECK_EQ(holder.number("sync"), 0);
    }
}

}  // namespace aliquot::guardkit::checks
