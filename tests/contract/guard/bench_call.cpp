// SPDX-License-Identifier: Apache-2.0
//
// guard-bench-call CASE [COUNT]: what one call costs in this process, guarded or not: the median of
// 101 batches in nanoseconds, on stdout. `hold` is a neighbour: it stays until its input ends.
#include <dlfcn.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "tests/contract/guard/cuda_more.h"
#include "tests/contract/guard/probe.h"

namespace aliquot::guardkit {
namespace {

template <class Function>
Function function(const char* name) {
    static void* const library = ::dlopen("libcuda.so.1", RTLD_NOW);
    void* const address = library == nullptr ? nullptr : ::dlsym(library, name);
    if (address == nullptr) fail(__FILE__, __LINE__, std::string("no ") + name);
    return reinterpret_cast<Function>(address);
}
#define FIND(name) function<decltype(&name)>(#name)

constexpr int kBatches = 101;

/// Median over batches of the time of one call of `body`.
template <class Body>
double median_ns(unsigned calls, const Body& body) {
    for (unsigned i = 0; i < calls; ++i) body();  // caches, first checkpoints
    std::array<double, kBatches> times{};
    for (double& time : times) {
        const std::uint64_t began = now_ns();
        for (unsigned i = 0; i < calls; ++i) body();
        time = static_cast<double>(now_ns() - began) / calls;
    }
    std::nth_element(times.begin(), times.begin() + kBatches / 2, times.end());
    return times[kBatches / 2];
}

void start() {
    CHECK_OK(FIND(cuInit)(0));
    CUcontext context = nullptr;
    CHECK_OK(FIND(cuDevicePrimaryCtxRetain)(&context, 0));
    CHECK_OK(FIND(cuCtxSetCurrent)(context));
}

/// On streams in turn; 0: on the default stream.
double launch(unsigned long count) {
    const auto call = FIND(cuLaunchKernel);
    const auto create = FIND(cuStreamCreate);
    std::vector<CUstream> streams(count == 0 ? 1 : count, nullptr);
    for (unsigned long i = 0; i < count; ++i) CHECK_OK(create(&streams[i], CU_STREAM_NON_BLOCKING));
    std::size_t at = 0;
    return median_ns(2000, [&] {
        call(nullptr, 64, 1, 1, 128, 1, 1, 0, streams[at], nullptr, nullptr);
        if (++at == streams.size()) at = 0;
    });
}
double launch_ex() {
    const auto call = FIND(cuLaunchKernelEx);
    const CUlaunchConfig config{.gridDimX = 64,
                                .gridDimY = 1,
                                .gridDimZ = 1,
                                .blockDimX = 128,
                                .blockDimY = 1,
                                .blockDimZ = 1,
                                .sharedMemBytes = 0,
                                .hStream = nullptr,
                                .attrs = nullptr,
                                .numAttrs = 0};
    return median_ns(2000, [&] { call(&config, nullptr, nullptr, nullptr); });
}
double graph_launch() {
    CUgraph graph = nullptr;
    CUgraphExec exec = nullptr;
    CHECK_OK(FIND(cuGraphCreate)(&graph, 0));
    CHECK_OK(FIND(cuGraphInstantiateWithFlags)(&exec, graph, 0));
    const auto call = FIND(cuGraphLaunch);
    return median_ns(2000, [&] { call(exec, nullptr); });
}
double allocate_and_free(unsigned long live) {
    const auto allocate = FIND(cuMemAlloc_v2);
    const auto release = FIND(cuMemFree_v2);
    CUdeviceptr pointer = 0;
    for (unsigned long i = 0; i < live; ++i) CHECK_OK(allocate(&pointer, 512));
    return median_ns(1000, [&] {
        CUdeviceptr one = 0;
        if (allocate(&one, 4096) != CUDA_SUCCESS) std::_Exit(kExitFailed);
        release(one);
    });
}
double memory_info() {
    const auto call = FIND(cuMemGetInfo_v2);
    std::size_t free = 0;
    std::size_t total = 0;
    return median_ns(2000, [&] { call(&free, &total); });
}
double init() {
    const auto call = FIND(cuInit);
    const std::uint64_t began = now_ns();
    CHECK_OK(call(0));
    return static_cast<double>(now_ns() - began);
}

void hold() {
    start();
    CUdeviceptr pointer = 0;
    CHECK_OK(FIND(cuMemAlloc_v2)(&pointer, 1 << 20));
    CHECK_EQ(::write(1, "ready\n", 6), 6L);
    char letter = 0;
    while (::read(0, &letter, 1) > 0) {
    }
}

int run_case(int count, char** words) {
    const char* const name = count > 1 ? words[1] : "";
    const unsigned long live = count > 2 ? std::strtoul(words[2], nullptr, 10) : 0;
    if (std::strcmp(name, "hold") == 0) {
        hold();
        return 0;
    }
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(0, &one);
    ::sched_setaffinity(0, sizeof one, &one);
    double ns = 0;
    if (std::strcmp(name, "init") == 0) {
        ns = init();
    } else {
        start();
        if (std::strcmp(name, "launch") == 0) ns = launch(live);
        if (std::strcmp(name, "launch-ex") == 0) ns = launch_ex();
        if (std::strcmp(name, "graph-launch") == 0) ns = graph_launch();
        if (std::strcmp(name, "alloc-free") == 0) ns = allocate_and_free(live);
        if (std::strcmp(name, "memory-info") == 0) ns = memory_info();
    }
    std::printf("%.2f\n", ns);
    return ns > 0 ? 0 : 2;
}

}  // namespace
}  // namespace aliquot::guardkit

int main(int count, char** words) { return aliquot::guardkit::run_case(count, words); }
