// SPDX-License-Identifier: Apache-2.0
//
// guard-tenant KERNEL_US DEPTH GRID GRAPH THINK_MS START_NS WARM_MS RUN_MS: a program that keeps a
// GPU busy with kernels of known length, DEPTH of them per synchronisation, one graph of DEPTH nodes
// with GRAPH 1, and thinks for THINK_MS between. Starts at START_NS of CLOCK_MONOTONIC, is measured
// after WARM_MS for RUN_MS. Prints: GPU share in percent, batches, then p50, p99 and longest time of
// a batch in milliseconds. RUN_MS 0: for ever.
#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "tests/contract/guard/cuda_more.h"
#include "tests/contract/guard/probe.h"
#include "tests/contract/guard/spin.h"

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

struct Plan {
    std::uint64_t kernel_ns = 0;
    unsigned depth = 1;
    unsigned grid = 1;
    bool graph = false;
    unsigned think_ms = 0;
    std::uint64_t start_ns = 0;
    std::uint64_t warm_ns = 0;
    std::uint64_t run_ns = 0;
};

class Tenant {
public:
    explicit Tenant(const Plan& plan) : plan_(plan), duration_(plan.kernel_ns) {
        CHECK_OK(FIND(cuInit)(0));
        CUcontext context = nullptr;
        CHECK_OK(FIND(cuDevicePrimaryCtxRetain)(&context, 0));
        CHECK_OK(FIND(cuCtxSetCurrent)(context));
        CUmodule module = nullptr;
        if (FIND(cuModuleLoadData)(&module, kSimulatedSpin) != CUDA_SUCCESS)
            CHECK_OK(FIND(cuModuleLoadData)(&module, kSpin));
        CHECK_OK(FIND(cuModuleGetFunction)(&spin_, module, "spin"));
        CHECK_OK(FIND(cuStreamCreate)(&stream_, CU_STREAM_NON_BLOCKING));
        if (plan.graph) make_graph();
    }

    void batch() {
        if (exec_ != nullptr) {
            CHECK_OK(graph_launch_(exec_, stream_));
        } else {
            void* arguments[] = {&duration_};
            for (unsigned i = 0; i < plan_.depth; ++i) {
                CHECK_OK(launch_(spin_, plan_.grid, 1, 1, 1, 1, 1, 0, stream_, arguments, nullptr));
            }
        }
        CHECK_OK(synchronize_(stream_));
    }

private:
    void make_graph() {
        CUgraph graph = nullptr;
        CHECK_OK(FIND(cuGraphCreate)(&graph, 0));
        void* arguments[] = {&duration_};
        CUgraphNode last = nullptr;
        for (unsigned i = 0; i < plan_.depth; ++i) {
            CUDA_KERNEL_NODE_PARAMS params{};
            params.func = spin_;
            params.gridDimX = plan_.grid;
            params.gridDimY = params.gridDimZ = 1;
            params.blockDimX = params.blockDimY = params.blockDimZ = 1;
            params.kernelParams = arguments;
            CUgraphNode node = nullptr;
            CHECK_OK(FIND(cuGraphAddKernelNode_v2)(&node, graph, last == nullptr ? nullptr : &last,
                                                   last == nullptr ? 0 : 1, &params));
            last = node;
        }
        CHECK_OK(FIND(cuGraphInstantiateWithFlags)(&exec_, graph, 0));
    }

    Plan plan_;
    std::uint64_t duration_;
    CUfunction spin_ = nullptr;
    CUstream stream_ = nullptr;
    CUgraphExec exec_ = nullptr;
    decltype(&cuLaunchKernel) launch_ = FIND(cuLaunchKernel);
    decltype(&cuGraphLaunch) graph_launch_ = FIND(cuGraphLaunch);
    decltype(&cuStreamSynchronize) synchronize_ = FIND(cuStreamSynchronize);
};

double percentile(std::vector<std::uint64_t>& times, double part) {
    if (times.empty()) return 0;
    std::sort(times.begin(), times.end());
    const auto at = static_cast<std::size_t>(part * static_cast<double>(times.size() - 1));
    return static_cast<double>(times[at]) / 1e6;
}

int run_tenant(int count, char** words) {
    if (count < 9) {
        std::fputs("guard-tenant KERNEL_US DEPTH GRID GRAPH THINK_MS START_NS WARM_MS RUN_MS\n",
                   stderr);
        return 2;
    }
    const auto number = [&](int at) { return std::strtoull(words[at], nullptr, 10); };
    const Plan plan{.kernel_ns = number(1) * 1000,
                    .depth = static_cast<unsigned>(number(2)),
                    .grid = static_cast<unsigned>(number(3)),
                    .graph = number(4) != 0,
                    .think_ms = static_cast<unsigned>(number(5)),
                    .start_ns = number(6),
                    .warm_ns = number(7) * 1'000'000,
                    .run_ns = number(8) * 1'000'000};
    Tenant tenant(plan);
    while (now_ns() < plan.start_ns) nap_us(200);
    const auto think = [&] {
        if (plan.think_ms != 0) nap_us(plan.think_ms * 1000);
    };
    while (now_ns() < plan.start_ns + plan.warm_ns) {
        tenant.batch();
        think();
    }
    // From the end of one batch to the end of another: no part of one is counted.
    const std::uint64_t began = now_ns();
    std::uint64_t ended = began;
    std::vector<std::uint64_t> times;
    while (plan.run_ns == 0 || ended < plan.start_ns + plan.warm_ns + plan.run_ns) {
        const std::uint64_t from = now_ns();
        tenant.batch();
        ended = now_ns();
        if (plan.run_ns != 0) times.push_back(ended - from);
        think();
    }
    const double busy =
        static_cast<double>(times.size()) * plan.depth * static_cast<double>(plan.kernel_ns);
    const std::size_t batches = times.size();
    const double p50 = percentile(times, 0.5);
    std::printf("%.2f %zu %.3f %.3f %.3f\n", 100 * busy / static_cast<double>(ended - began),
                batches, p50, percentile(times, 0.99), percentile(times, 1.0));
    return 0;
}

}  // namespace
}  // namespace aliquot::guardkit

int main(int count, char** words) { return aliquot::guardkit::run_tenant(count, words); }
