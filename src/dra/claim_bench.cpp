// SPDX-License-Identifier: Apache-2.0
// 1,000 pairs of Prepare and Unprepare on a node with 2 GPUs and 32 other claims: all but the API server, the guard and
// gRPC. Counters: microseconds of one Prepare, the median, the 99th percentile and the longest.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>

#include "dra/test_claims.h"
#include "os/temporary_directory.h"

namespace {

using namespace aliquot;  // NOLINT(google-build-using-namespace)

void prepare_and_unprepare(benchmark::State& state) {
    constexpr unsigned kOthers = 32;
    constexpr unsigned kPairs = 1000;
    const os::TemporaryDirectory directory;
    dra::Node node(directory.path());
    const auto keeper = node.start();
    for (unsigned i = 0; i < kOthers; ++i) {
        (void)keeper->prepare(node.allocate("other-" + std::to_string(i), "1Gi", 1, i % 2));
    }
    const dra::ClaimName claim = node.allocate("measured", "3Gi", 25);
    std::vector<double> took;
    for ([[maybe_unused]] auto round : state) {
        for (unsigned i = 0; i < kPairs; ++i) {
            const auto begin = std::chrono::steady_clock::now();
            const auto made = keeper->prepare(claim);
            const auto end = std::chrono::steady_clock::now();
            if (!made) return state.SkipWithError(made.error().message.c_str());
            took.push_back(std::chrono::duration<double, std::micro>(end - begin).count());
            (void)keeper->unprepare(claim);
        }
    }
    std::ranges::sort(took);
    state.counters["p50_us"] = took[took.size() / 2];
    state.counters["p99_us"] = took[took.size() * 99 / 100];
    state.counters["longest_us"] = took.back();
}
BENCHMARK(prepare_and_unprepare)->Unit(benchmark::kMillisecond)->Iterations(1);

}  // namespace
