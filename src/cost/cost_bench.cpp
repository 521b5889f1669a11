// SPDX-License-Identifier: Apache-2.0
// How fast intervals are rolled up: what docs/performance.md says of it.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <random>
#include <thread>

#include "cost/allocate.h"
#include "cost/report.h"

namespace aliquot::cost {
namespace {

/// `count` intervals of some minutes on nodes of 8 GPUs, four holders at a time on each GPU.
History history_of(std::size_t count) {
    constexpr unsigned kNodes = 100;
    constexpr unsigned kGpus = 8;
    constexpr unsigned kHolders = 4;
    constexpr TimeMs kMinute = 60'000;
    History all;
    std::mt19937 random(1);
    std::vector<OwnerId> owners;
    for (unsigned i = 0; i < 1'000; ++i) {
        owners.push_back(all.add({.queue = all.names.add("q" + std::to_string(i % 10)),
                                  .job = all.names.add("job-" + std::to_string(i))}));
    }
    const std::size_t each = count / (kNodes * kGpus * kHolders);
    TimeMs last = 0;
    std::vector<Span> spans;
    for (unsigned node = 0; node < kNodes; ++node) {
        Span span{.node = all.names.add("node-" + std::to_string(node)),
                  .rate = 30'000'000,
                  .cpu_milli = 192'000,
                  .memory_mib = 2'000'000};
        for (unsigned gpu = 0; gpu < kGpus; ++gpu) {
            const NameId device =
                all.names.add("GPU-" + std::to_string(node) + "-" + std::to_string(gpu));
            span.devices.push_back(device);
            for (unsigned holder = 0; holder < kHolders; ++holder) {
                TimeMs at = 0;
                for (std::size_t i = 0; i < each; ++i) {
                    const TimeMs length = kMinute * (3 + static_cast<TimeMs>(random() % 5));
                    // Each holder has owners of its own, so that none has two shares at once.
                    const auto owner = owners[(random() % 31) * 32 + gpu * kHolders + holder];
                    all.intervals.push_back({.begin = at,
                                             .end = at + length,
                                             .node = span.node,
                                             .device = device,
                                             .owner = owner,
                                             .share = kWholeGpu / kHolders,
                                             .cpu_milli = 4'000});
                    at += length;
                }
                last = std::max(last, at);
            }
        }
        spans.push_back(span);
    }
    for (Span& span : spans) span.end = last;
    all.spans = std::move(spans);
    return all;
}

void BM_RollUp(benchmark::State& state) {
    const History all = history_of(static_cast<std::size_t>(state.range(0)));
    const unsigned threads = std::max(1U, std::thread::hardware_concurrency());
    for (auto _ : state) {
        Micros sum = 0;
        Micros bill = 0;
        allocate(
            all,
            [&](const Allocation& node) {
                for (const Row& row : node.rows) sum += row.total();
                for (const Bill& one : node.bills) bill += one.amount;
            },
            threads);
        if (sum != bill || sum == 0) std::abort();
        benchmark::DoNotOptimize(sum);
    }
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(all.intervals.size()));
}
BENCHMARK(BM_RollUp)->Arg(1'000'000)->Arg(10'000'000)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
}  // namespace aliquot::cost
