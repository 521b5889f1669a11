// SPDX-License-Identifier: Apache-2.0
//
// guard-tenant KERNEL_US DEPTH GRID GRAPH THINK_MS START_NS WARM_MS RUN_MS THREADS STREAMS: a program that keeps a
// GPU busy with kernels of known length, DEPTH of them per synchronisation, one graph of DEPTH nodes
// with GRAPH 1, and thinks for THINK_MS between. Starts at START_NS of CLOCK_MONOTONIC, is measured
// after WARM_MS for RUN_MS. Prints: GPU share in percent, batches, then p50, p99 and longest time of
// a batch in milliseconds. RUN_MS 0: for ever. Each of THREADS does that, all on STREAMS streams: a
// thread on one of them, a single thread on all in turn.
#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <thread>
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
    unsigned threads = 1;
    unsigned streams = 1;
};

class Tenant {
public:
    explicit Tenant(const Plan& plan) : plan_(plan) {
        CHECK_OK(FIND(cuInit)(0));
        CHECK_OK(FIND(cuDevicePrimaryCtxRetain)(&context_, 0));
        enter();
        CUmodule module = nullptr;
        if (FIND(cuModuleLoadData)(&module, kSimulatedSpin) != CUDA_SUCCESS)
            CHECK_OK(FIND(cuModuleLoadData)(&module, kSpin));
        CHECK_OK(FIND(cuModuleGetFunction)(&spin_, module, "spin"));
        streams_.resize(plan.streams);
        for (CUstream& stream : streams_)
            CHECK_OK(FIND(cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING));
        if (plan.graph) make_graph();
    }

    /// In each thread first.
    void enter() const { CHECK_OK(set_context_(context_)); }

    void batch(unsigned thread) {
        const bool all = plan_.threads == 1;
        const auto stream = [&](unsigned i) {
            return streams_[(all ? i : thread) % streams_.size()];
        };
        if (exec_ != nullptr) {
            CHECK_OK(graph_launch_(exec_, stream(0)));
        } else {
            std::uint64_t duration = plan_.kernel_ns;
            void* arguments[] = {&duration};
            for (unsigned i = 0; i < plan_.depth; ++i)
                CHECK_OK(
                    launch_(spin_, plan_.grid, 1, 1, 1, 1, 1, 0, stream(i), arguments, nullptr));
        }
        for (unsigned i = 0; i < (all ? streams_.size() : 1); ++i)
            CHECK_OK(synchronize_(stream(i)));
    }

private:
    void make_graph() {
        CUgraph graph = nullptr;
        CHECK_OK(FIND(cuGraphCreate)(&graph, 0));
        std::uint64_t duration = plan_.kernel_ns;
        void* arguments[] = {&duration};
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
    CUfunction spin_ = nullptr;
    CUcontext context_ = nullptr;
    std::vector<CUstream> streams_;
    CUgraphExec exec_ = nullptr;
    decltype(&cuCtxSetCurrent) set_context_ = FIND(cuCtxSetCurrent);
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

struct Measured {
    double share = 0;
    std::vector<std::uint64_t> times;  // of batches
};

Measured measure(Tenant& tenant, const Plan& plan, unsigned thread) {
    while (now_ns() < plan.start_ns) nap_us(200);
    const auto think = [&] {
        if (plan.think_ms != 0) nap_us(plan.think_ms * 1000);
    };
    while (now_ns() < plan.start_ns + plan.warm_ns) {
        tenant.batch(thread);
        think();
    }
    // From the end of one batch to the end of another: no part of one is counted.
    const std::uint64_t began = now_ns();
    std::uint64_t ended = began;
    Measured got;
    while (plan.run_ns == 0 || ended < plan.start_ns + plan.warm_ns + plan.run_ns) {
        const std::uint64_t from = now_ns();
        tenant.batch(thread);
        ended = now_ns();
        if (plan.run_ns != 0) got.times.push_back(ended - from);
        think();
    }
    const double busy =
        static_cast<double>(got.times.size()) * plan.depth * static_cast<double>(plan.kernel_ns);
    got.share = busy / static_cast<double>(ended - began);
    return got;
}

int run_tenant(int count, char** words) {
    if (count < 11) {
        std::fputs(
            "guard-tenant KERNEL_US DEPTH GRID GRAPH THINK_MS START_NS WARM_MS RUN_MS "
            "THREADS STREAMS\n",
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
                    .run_ns = number(8) * 1'000'000,
                    .threads = std::max(static_cast<unsigned>(number(9)), 1U),
                    .streams = std::max(static_cast<unsigned>(number(10)), 1U)};
    Tenant tenant(plan);
    std::vector<Measured> measured(plan.threads);
    std::vector<std::thread> threads;
    for (unsigned i = 1; i < plan.threads; ++i)
        threads.emplace_back([&, i] {
            tenant.enter();
            measured[i] = measure(tenant, plan, i);
        });
    measured[0] = measure(tenant, plan, 0);
    for (std::thread& thread : threads) thread.join();
    double share = 0;
    std::vector<std::uint64_t> times;
    for (const Measured& one : measured) {
        share += one.share;
        times.insert(times.end(), one.times.begin(), one.times.end());
    }
    const std::size_t batches = times.size();
    const double p50 = percentile(times, 0.5);
    std::printf("%.2f %zu %.3f %.3f %.3f\n", 100 * share, batches, p50, percentile(times, 0.99),
                percentile(times, 1.0));
    return 0;
}

}  // namespace
}  // namespace aliquot::guardkit

int main(int count, char** words) { return aliquot::guardkit::run_tenant(count, words); }
