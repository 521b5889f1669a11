// SPDX-License-Identifier: Apache-2.0
// Speed and memory of the queue planner: what docs/performance.md says of it.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <fstream>
#include <queue>
#include <string>
#include <vector>

#include "queue/planner.h"

namespace aliquot::queue {
namespace {

constexpr Time kSecond = 1'000;
constexpr std::int64_t kMilliPerGpu = 1'000;

placement::Request gpus(unsigned count) {
    return {.gpus = static_cast<std::uint8_t>(count), .milli = placement::kWholeGpu};
}

Planner planner_of(unsigned nodes, Options options = {}) {
    Planner planner(options);
    for (unsigned i = 0; i < nodes; ++i)
        if (!planner.add_node({.name = "node-" + std::to_string(i), .devices = 8, .model = "GPU"})
                 .ok())
            std::abort();
    return planner;
}

void must(const Result<Done>& done) {
    if (!done.ok()) std::abort();
}

/// What the process has in memory, in KiB.
std::int64_t resident_kib() {
    std::ifstream status("/proc/self/status");
    for (std::string word; status >> word;)
        if (word == "VmRSS:") {
            std::int64_t kib = 0;
            status >> kib;
            return kib;
        }
    return 0;
}

/// A job comes, starts, and the oldest ends: one decision each. `range(0)` nodes, kept nearly full.
void BM_Simple(benchmark::State& state) {
    const auto nodes = static_cast<unsigned>(state.range(0));
    Planner planner = planner_of(nodes);
    std::queue<JobId> running;
    JobId next = 1;
    Time now = 0;
    const auto submit = [&] {
        must(planner.submit({.id = next,
                             .user = "u" + std::to_string(next % 16),
                             .request = gpus(1),
                             .submitted = now,
                             .expected = 3'600 * kSecond},
                            now));
        ++next;
    };
    for (auto _ : state) {
        submit();
        for (const Start& start : planner.decide(now).starts) running.push(start.id);
        if (running.size() >= std::size_t{nodes} * 8 - 1) {
            must(planner.ended(running.front(), now));
            running.pop();
        }
        ++now;
    }
    state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_Simple)->Arg(1)->Arg(16)->Arg(128)->Arg(1'024);

/// The same with more waiting than runs: each end starts the next of `range(0)` waiting jobs of 30 queues.
void BM_Backlog(benchmark::State& state) {
    Planner planner = planner_of(16);
    JobId next = 1;
    Time now = 0;
    std::queue<JobId> running;
    const auto submit = [&] {
        must(planner.submit({.id = next,
                             .queue = "q" + std::to_string(next % 30),
                             .user = "u" + std::to_string(next % 7),
                             .name = "train",
                             .request = gpus(next % 10 == 0 ? 4 : 1),
                             .submitted = now,
                             .expected = 3'600 * kSecond},
                            now));
        ++next;
    };
    for (std::int64_t i = 0; i < state.range(0); ++i) submit();
    std::int64_t decided = 0;
    const auto take = [&](const Plan& plan) {
        for (const Start& start : plan.starts) running.push(start.id);
        decided += static_cast<std::int64_t>(plan.starts.size());
    };
    take(planner.decide(now));
    for (auto _ : state) {
        ++now;
        submit();
        must(planner.ended(running.front(), now));
        running.pop();
        take(planner.decide(now));
    }
    state.SetItemsProcessed(decided);
}
BENCHMARK(BM_Backlog)->Arg(100)->Arg(10'000);

/// Two queues of one cohort take the cluster from each other: every decision ends a borrower for an owner.
void BM_Preemption(benchmark::State& state) {
    Planner planner = planner_of(static_cast<unsigned>(state.range(0)), Options{.reclaim = true});
    const std::int64_t half = state.range(0) * 8 / 2 * kMilliPerGpu;
    must(planner.set_queue({.name = "a", .cohort = "all", .quota_milli = half}));
    must(planner.set_queue({.name = "b", .cohort = "all", .quota_milli = half}));
    JobId next = 1;
    Time now = 0;
    const auto submit = [&](const char* queue) {
        must(planner.submit({.id = next,
                             .queue = queue,
                             .request = gpus(1),
                             .submitted = now,
                             .expected = 3'600 * kSecond},
                            now));
        return next++;
    };
    for (std::int64_t i = 0; i < state.range(0) * 8; ++i) submit("b");
    planner.decide(now);
    for (auto _ : state) {
        ++now;
        const JobId owner = submit("a");
        const Plan plan = planner.decide(now);
        if (plan.preempts.size() != 1) std::abort();
        must(planner.requeue(plan.preempts[0], now));
        if (planner.decide(now).starts.size() != 1) std::abort();
        must(planner.ended(owner, now));
        if (planner.decide(now).starts.size() != 1) std::abort();
    }
    state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_Preemption)->Arg(4)->Arg(32);

/// `range(0)` jobs wait on 128 nodes; users and names as in a large team.
Planner waiting_planner(std::int64_t jobs) {
    Planner planner = planner_of(128);
    for (std::int64_t i = 0; i < jobs; ++i) {
        const auto n = static_cast<unsigned>(i);
        must(planner.submit({.id = n + 1,
                             .queue = "team-" + std::to_string(n % 30),
                             .user = "user-" + std::to_string(n * 7 % 200),
                             .name = "train-" + std::to_string(n % 5),
                             .request = gpus(n % 10 == 0 ? 8 : 1U << (n % 3)),
                             .submitted = n,
                             .limit = (60 + n * 37 % 7'200) * kSecond},
                            n));
    }
    planner.decide(jobs);
    return planner;
}

void BM_Forecast(benchmark::State& state) {
    const std::int64_t before = resident_kib();
    Planner planner = waiting_planner(state.range(0));
    Time now = state.range(0);
    std::size_t told = 0;
    for (auto _ : state) told = planner.forecast(++now).size();
    state.counters["jobs"] = static_cast<double>(told);
    state.counters["MiB"] = static_cast<double>(resident_kib() - before) / 1'024;
}
BENCHMARK(BM_Forecast)->Arg(1'000)->Arg(10'000)->Arg(100'000)->Unit(benchmark::kMillisecond);

void BM_Explain(benchmark::State& state) {
    Planner planner = waiting_planner(state.range(0));
    Time now = state.range(0);
    JobId id = static_cast<JobId>(state.range(0));
    for (auto _ : state) {
        auto made = planner.explain(id, ++now);
        if (!made.ok()) std::abort();
        benchmark::DoNotOptimize(*made);
    }
}
BENCHMARK(BM_Explain)->Arg(1'000)->Arg(100'000)->Unit(benchmark::kMillisecond);

/// Kueue's generator load on simulated time: cohorts of queues with 20 GPUs each; every queue gets jobs of 1, 5 and
/// 20 GPUs that run 0.2, 0.5 and 1 s, as fast as the quota lets them: the time of the planner alone.
void BM_KueueLoad(benchmark::State& state) {
    const auto queues = static_cast<unsigned>(state.range(0));
    const auto small = static_cast<unsigned>(state.range(1));
    const auto medium = static_cast<unsigned>(state.range(2));
    const auto large = static_cast<unsigned>(state.range(3));
    Time makespan = 0;
    std::int64_t jobs = 0;
    for (auto _ : state) {
        Planner planner = planner_of((queues * 20 + 7) / 8);
        JobId next = 1;
        std::vector<Time> runs{0};
        for (unsigned q = 0; q < queues; ++q) {
            const std::string name = "queue-" + std::to_string(q);
            must(planner.set_queue({.name = name,
                                    .cohort = "cohort-" + std::to_string(q / 6),
                                    .quota_milli = 20 * kMilliPerGpu,
                                    .borrow_milli = 100 * kMilliPerGpu}));
            const auto submit = [&](unsigned count, std::uint32_t pods, Time run,
                                    std::int32_t priority) {
                for (unsigned i = 0; i < count; ++i) {
                    must(planner.submit({.id = next++,
                                         .queue = name,
                                         .request = gpus(1),
                                         .gang = pods,
                                         .priority = priority,
                                         .expected = run},
                                        0));
                    runs.push_back(run);
                }
            };
            submit(small, 1, 200, 50);
            submit(medium, 5, 500, 100);
            submit(large, 20, 1'000, 200);
        }
        std::priority_queue<std::pair<Time, JobId>, std::vector<std::pair<Time, JobId>>,
                            std::greater<>>
            ends;
        Time now = 0;
        jobs = static_cast<std::int64_t>(next) - 1;
        for (std::int64_t done = 0; done < jobs;) {
            for (const Start& start : planner.decide(now).starts)
                ends.emplace(now + runs[start.id], start.id);
            if (ends.empty()) std::abort();
            now = ends.top().first;
            for (; !ends.empty() && ends.top().first == now; ends.pop(), ++done)
                must(planner.ended(ends.top().second, now));
        }
        makespan = now;
    }
    state.counters["jobs"] = static_cast<double>(jobs);
    state.counters["simulated_s"] = static_cast<double>(makespan) / 1'000;
    state.SetItemsProcessed(state.iterations() * jobs);
}
BENCHMARK(BM_KueueLoad)
    ->Args({30, 350, 100, 50})
    ->Args({30, 35, 10, 5})
    ->Args({1'000, 35, 10, 5})
    ->Unit(benchmark::kMillisecond)
    ->Iterations(1);

}  // namespace
}  // namespace aliquot::queue

BENCHMARK_MAIN();
