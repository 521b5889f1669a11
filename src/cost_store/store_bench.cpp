// SPDX-License-Identifier: Apache-2.0
// How large a day of a cluster is in SQLite, and how long it takes to write: what docs/performance.md says of it.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <random>

#include "cost_store/question.h"
#include "cost_store/store.h"

namespace aliquot::cost_store {
namespace {

namespace fs = std::filesystem;
using cost::kHourMs;
using cost::TimeMs;

constexpr TimeMs kStart = 1'790'000'000'000 / cost::kDayMs * cost::kDayMs;
constexpr unsigned kGpus = 8;

/// One hour of a cluster, as a recorder writes it: what lasts longer goes on as another interval.
struct Hour {
    unsigned nodes;
    unsigned holders;  // of each GPU, at once
    unsigned pod_hours;
    std::mt19937 random{1};

    cost::History of(unsigned hour) {
        cost::History made;
        const TimeMs begin = kStart + hour * kHourMs;
        for (unsigned n = 0; n < nodes; ++n) {
            const std::string name = "gpu-node-" + std::to_string(n);
            cost::Span span{.begin = begin,
                            .end = begin + kHourMs,
                            .node = made.names.add(name),
                            .model = made.names.add("NVIDIA A100-SXM4-80GB"),
                            .price = made.names.add("aws 2026-07-20"),
                            .rate = 32'000'000,
                            .cpu_milli = 96'000,
                            .memory_mib = 1'152'000};
            for (unsigned g = 0; g < kGpus; ++g) {
                span.devices.push_back(
                    made.names.add("GPU-6c1a3c50-0000-4000-8000-" +
                                   std::to_string(100'000'000'000 + n * kGpus + g)));
                for (unsigned h = 0; h < holders; ++h) {
                    add(made, span, g, h, hour);
                }
            }
            made.spans.push_back(std::move(span));
        }
        return made;
    }

    void add(cost::History& made, const cost::Span& span, unsigned gpu, unsigned holder,
             unsigned hour) {
        const unsigned number = (hour + span.node + gpu + holder) / pod_hours;
        const std::string job =
            "worker-" + std::to_string(span.node) + "-" + std::to_string(gpu * 10 + holder);
        const std::string pod = job + "-" + std::to_string(number);
        const TimeMs begin = kStart + hour * kHourMs;
        made.intervals.push_back(
            {.begin = begin,
             .end = begin + kHourMs,
             .node = span.node,
             .device = span.devices[gpu],
             .owner = made.add({.space = made.names.add("team-" + std::to_string(span.node % 30)),
                                .user = made.names.add("user-" + std::to_string(span.node % 300)),
                                .job = made.names.add(job),
                                .pod = made.names.add(pod),
                                .container = made.names.add("main")}),
             .share = cost::kWholeGpu / holders,
             .cpu_milli = 8'000,
             .memory_mib = 65'536,
             .gpu_memory_mib = 81'920 / holders,
             .gpu_memory_peak_mib = static_cast<std::uint32_t>(random() % 81'920),
             .busy_ppm = static_cast<std::uint32_t>(random() % 1'000'000),
             .energy_millijoules = random() % 1'000'000'000});
    }
};

/// holders of a GPU, hours that a pod runs
void BM_DayOfAThousandNodes(benchmark::State& state) {
    constexpr unsigned kHours = 24;
    std::string pattern = "/tmp/aliquot-cost-bench-XXXXXX";
    const fs::path directory = ::mkdtemp(pattern.data());
    std::uintmax_t bytes = 0;
    std::size_t intervals = 0;
    const auto must = [](const auto& done) {
        if (done) return;
        std::cerr << done.error().message << "\n";
        std::exit(1);
    };
    for (auto _ : state) {
        fs::remove(directory / "cost.db");
        auto store = Store::open(directory / "cost.db");
        must(store);
        Hour hour{.nodes = 1'000,
                  .holders = static_cast<unsigned>(state.range(0)),
                  .pod_hours = static_cast<unsigned>(state.range(1))};
        intervals = 0;
        for (unsigned i = 0; i < kHours; ++i) {
            const auto history = hour.of(i);
            intervals += history.intervals.size();
            must(store->put(history));
            must(store->roll_up(kStart + (i + 1) * kHourMs));
        }
        must(store->retain(kStart + kHours * kHourMs, {}));
        bytes = fs::file_size(directory / "cost.db");
    }
    state.counters["intervals"] = static_cast<double>(intervals);
    state.counters["megabytes"] = static_cast<double>(bytes) / 1e6;
    fs::remove_all(directory);
}
BENCHMARK(BM_DayOfAThousandNodes)
    ->Args({1, 6})
    ->Args({2, 2})
    ->Args({4, 4})
    ->Iterations(1)
    ->Unit(benchmark::kSecond)
    ->UseRealTime();

/// What `aliquot cost --since 7d` asks of a store of a thousand nodes: holders of a GPU, hours that a pod runs.
void BM_ReportOfAWeek(benchmark::State& state) {
    constexpr unsigned kHours = 7 * 24;
    std::string pattern = "/tmp/aliquot-cost-bench-XXXXXX";
    const fs::path directory = ::mkdtemp(pattern.data());
    const auto must = [](const auto& done) {
        if (done) return;
        std::cerr << done.error().message << "\n";
        std::exit(1);
    };
    auto store = Store::open(directory / "cost.db");
    must(store);
    Hour hour{.nodes = 1'000,
              .holders = static_cast<unsigned>(state.range(0)),
              .pod_hours = static_cast<unsigned>(state.range(1))};
    for (unsigned i = 0; i < kHours; ++i) {
        must(store->put(hour.of(i)));
        must(store->roll_up(kStart + (i + 1) * kHourMs));
    }
    const TimeMs now = kStart + kHours * kHourMs;
    for (auto _ : state) {
        const auto made = report(*store, {.begin = kStart, .end = now}, {}, now);
        must(made);
        state.counters["lines"] = static_cast<double>(made->lines.size());
        state.counters["savings"] = static_cast<double>(made->savings.size());
    }
    fs::remove_all(directory);
}
BENCHMARK(BM_ReportOfAWeek)->Args({1, 6})->Unit(benchmark::kSecond)->UseRealTime();

}  // namespace
}  // namespace aliquot::cost_store
