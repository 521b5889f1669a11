// SPDX-License-Identifier: Apache-2.0
// Decisions per second while tasks come and go, in clusters shaped like the published one.
//   aliquot_placement_bench --nodes NODES.csv --pods PODS.csv      (openb lists; see docs/performance.md)
// Without files it makes up a cluster of the same mix.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>

#include "placement/engine.h"
#include "sim/trace/published_scorer.h"

namespace aliquot::placement {
namespace {

struct Lists {
    std::vector<NodeSpec> nodes;
    std::vector<Request> tasks;
};
Lists lists;  // NOLINT: filled by main() before the benchmarks run

/// Deterministic draws (SplitMix64).
class Draw {
public:
    explicit Draw(std::uint64_t seed) : state_(seed) {}
    std::uint64_t operator()(std::uint64_t below) {
        std::uint64_t z = (state_ += 0x9E3779B97F4A7C15ULL);
        z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9ULL;
        z = (z ^ (z >> 27U)) * 0x94D049BB133111EBULL;
        return (z ^ (z >> 31U)) % below;
    }

private:
    std::uint64_t state_;
};

std::vector<std::vector<std::string>> rows_of(const std::string& path) {
    std::ifstream file(path);
    std::vector<std::vector<std::string>> rows;
    std::string line;
    std::getline(file, line);
    while (std::getline(file, line)) {
        std::vector<std::string> row;
        std::istringstream cells(line);
        for (std::string cell; std::getline(cells, cell, ',');) row.push_back(cell);
        rows.push_back(std::move(row));
    }
    return rows;
}

Lists read_lists(const std::string& nodes, const std::string& tasks) {
    Lists read;
    for (const auto& row : rows_of(nodes)) {
        NodeSpec spec;
        spec.cpu_milli = std::stoi(row.at(1));
        spec.memory_mib = std::stoi(row.at(2));
        spec.devices = static_cast<std::uint8_t>(std::stoi(row.at(3)));
        if (spec.devices > 0) spec.model = row.at(4);
        read.nodes.push_back(std::move(spec));
    }
    for (const auto& row : rows_of(tasks)) {
        Request request;
        request.cpu_milli = std::stoi(row.at(1));
        request.memory_mib = std::stoi(row.at(2));
        request.gpus = static_cast<std::uint8_t>(std::stoi(row.at(3)));
        request.milli = request.gpus > 0 ? std::min(kWholeGpu, std::stoi(row.at(4))) : 0;
        read.tasks.push_back(std::move(request));
    }
    return read;
}

Lists made_up_lists() {
    Lists made;
    Draw draw(7);
    for (int i = 0; i < 1'213; ++i) {
        NodeSpec spec;
        const auto kind = draw(100);
        spec.devices = kind < 48 ? 8 : kind < 90 ? 2 : 4;
        spec.model = kind < 48 ? "G2" : kind < 80 ? "T4" : "P100";
        spec.cpu_milli = kind < 48 ? 96'000 : kind < 80 ? 104'000 : 64'000;
        spec.memory_mib = 400'000;
        made.nodes.push_back(std::move(spec));
    }
    constexpr std::array<std::int32_t, 8> kMilli{810, 470, 320, 650, 230, 460, 590, 160};
    for (int i = 0; i < 8'000; ++i) {
        Request request;
        const auto kind = draw(100);
        request.cpu_milli = static_cast<std::int32_t>((1 + draw(12)) * 1'000);
        request.memory_mib = static_cast<std::int32_t>((1 + draw(8)) * 4'096);
        request.gpus = kind < 13 ? 0 : kind >= 99 ? 8 : 1;
        request.milli = request.gpus == 0 ? 0 : kind < 50 ? kMilli[draw(kMilli.size())] : kWholeGpu;
        made.tasks.push_back(std::move(request));
    }
    return made;
}

/// A cluster of `nodes` nodes, filled to 85 % of its GPU compute.
class World {
public:
    World(Policy policy, std::size_t nodes) : engine_(options_of(policy)), draw_(42) {
        for (std::size_t i = 0; i < nodes; ++i) {
            NodeSpec spec = lists.nodes[i % lists.nodes.size()];
            spec.name = "node-" + std::to_string(i);
            if (!engine_.add_node(std::move(spec))) std::abort();
        }
        std::vector<std::pair<Request, double>> tasks;
        for (const Request& task : lists.tasks) tasks.emplace_back(task, 1);
        engine_.set_workload(typical_types(tasks));
        const std::int64_t wanted = engine_.capacity_milli() * 15 / 100;
        while (engine_.free_milli() > wanted) arrive();
    }

    void arrive() {
        const auto placed = engine_.place(lists.tasks[draw_(lists.tasks.size())]);
        if (placed) live_.push_back(placed->id);
    }
    void depart() {
        PlacementId& one = live_[draw_(live_.size())];
        if (!engine_.release(one)) std::abort();
        one = live_.back();
        live_.pop_back();
    }
    /// One step of the steady state: room for a task is made, then a task is placed.
    void churn() {
        const std::int64_t wanted = engine_.capacity_milli() * 15 / 100;
        while (engine_.free_milli() < wanted) depart();
        arrive();
    }
    Engine& engine() { return engine_; }

private:
    static Options options_of(Policy policy) {
        Options options;
        options.policy = policy;
        options.published = aliquot::sim::trace::published_scorer;
        return options;
    }

    Engine engine_;
    Draw draw_;
    std::vector<PlacementId> live_;
};

void churn(benchmark::State& state, Policy policy) {
    World world(policy, static_cast<std::size_t>(state.range(0)));
    for (int i = 0; i < 20'000; ++i) world.churn();
    std::vector<double> micros;
    micros.reserve(1'000'000);
    for (auto _ : state) {
        const auto start = std::chrono::steady_clock::now();
        world.churn();
        micros.push_back(
            std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start)
                .count());
    }
    std::sort(micros.begin(), micros.end());
    state.counters["decisions/s"] =
        benchmark::Counter(static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
    state.counters["p50_us"] = micros[micros.size() / 2];
    state.counters["p99_us"] = micros[micros.size() * 99 / 100];
    state.counters["p99.9_us"] = micros[micros.size() * 999 / 1000];
    state.counters["worst_us"] = micros.back();
    state.counters["bytes/node"] =
        static_cast<double>(world.engine().memory_bytes()) / static_cast<double>(state.range(0));
}

/// The time that this thread itself has used, without that of others on the machine.
double own_micros() {
    timespec now{};
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) / 1e3;
}

/// The longest steps, in the thread's own time: on a shared machine the clock on the wall shows what
/// the others do. Asking for it costs too much to do so in churn().
void tail(benchmark::State& state, Policy policy) {
    World world(policy, static_cast<std::size_t>(state.range(0)));
    for (int i = 0; i < 20'000; ++i) world.churn();
    double worst = 0;
    double long_ones = 0;
    for (auto _ : state) {
        const double start = own_micros();
        world.churn();
        const double spent = own_micros() - start;
        worst = std::max(worst, spent);
        if (spent > 1'000) ++long_ones;
    }
    state.counters["worst_us"] = worst;
    state.counters["above_1ms"] = long_ones;
}

void register_all() {
#ifndef __clang_analyzer__  // it takes the registry of the library for a leak, in the library's header
    for (const auto& [name, policy] : {std::pair{"aliquot", Policy::kAliquot},
                                       {"fgd", Policy::kFgd},
                                       {"best-fit", Policy::kBestFit}})
        for (const int nodes : {1'213, 5'000, 100'000})
            benchmark::RegisterBenchmark(
                (std::string("churn/") + name).c_str(),
                [policy = policy](benchmark::State& state) { churn(state, policy); })
                ->Arg(nodes)
                ->Iterations(nodes < 100'000 ? 200'000 : 100'000)
                ->Unit(benchmark::kMicrosecond);
    for (const auto& [name, policy] :
         {std::pair{"aliquot", Policy::kAliquot}, {"fgd", Policy::kFgd}})
        for (const int nodes : {1'213, 5'000, 100'000})
            benchmark::RegisterBenchmark(
                (std::string("tail/") + name).c_str(),
                [policy = policy](benchmark::State& state) { tail(state, policy); })
                ->Arg(nodes)
                ->Iterations(100'000)
                ->Unit(benchmark::kMicrosecond);
#endif
}

}  // namespace
}  // namespace aliquot::placement

int main(int argc, char** argv) {
    using namespace aliquot::placement;
    std::string nodes;
    std::string pods;
    std::vector<char*> rest;
    for (int i = 0; i < argc; ++i) {
        const std::string word = argv[i];
        if (word == "--nodes" && i + 1 < argc)
            nodes = argv[++i];
        else if (word == "--pods" && i + 1 < argc)
            pods = argv[++i];
        else
            rest.push_back(argv[i]);
    }
    lists = nodes.empty() || pods.empty() ? made_up_lists() : read_lists(nodes, pods);
    register_all();
    int count = static_cast<int>(rest.size());
    benchmark::Initialize(&count, rest.data());
    benchmark::RunSpecifiedBenchmarks();
    return 0;
}
