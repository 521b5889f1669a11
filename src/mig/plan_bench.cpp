// SPDX-License-Identifier: Apache-2.0
// Planning time over transitions between all layouts of an A100: each of its 298 layouts to each
// multiset, as a spec has no places.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <random>

#include "mig/plan.h"

namespace {

using namespace aliquot::mig;  // NOLINT(google-build-using-namespace)

const Geometry& a100() {
    static const Geometry kGeometry =
        only(*geometry_of(*aliquot::catalog::find_gpu_model("a100-40")),
             {"1g.5gb", "2g.10gb", "3g.20gb", "4g.20gb", "7g.40gb"});
    return kGeometry;
}

std::vector<Instance> instances_of(const Layout& layout) {
    std::vector<Instance> instances;
    for (const Slot slot : layout) {
        const Profile& profile = a100().profiles[slot.profile];
        instances.push_back({.profile = profile.name,
                             .start = slot.start,
                             .size = profile.size,
                             .compute = {profile.slices}});
    }
    return instances;
}

LayoutSpec spec_of(const Layout& layout) {
    LayoutSpec spec;
    for (const Slot slot : layout) {
        spec.push_back(
            {.profile = *aliquot::gpu::parse_mig_profile(a100().profiles[slot.profile].name)});
    }
    return spec;
}

/// All 298 x 298; busy_percent of the instances are busy. Counters: microseconds of one plan.
void all_transitions(benchmark::State& state) {
    const auto busy_percent = static_cast<unsigned>(state.range(0));
    const auto all = layouts(a100(), Occupancy(a100()));
    std::vector<std::vector<Instance>> instances;
    std::vector<LayoutSpec> specs;
    for (const Layout& layout : all) {
        instances.push_back(instances_of(layout));
        specs.push_back(spec_of(layout));
    }
    std::mt19937 random(1);
    std::vector<double> times;
    for (auto _ : state) {
        times.clear();
        for (const auto& from : instances) {
            for (const LayoutSpec& spec : specs) {
                std::vector<Instance> now = from;
                for (Instance& instance : now) instance.busy = random() % 100 < busy_percent;
                const auto begin = std::chrono::steady_clock::now();
                benchmark::DoNotOptimize(plan(a100(), now, spec));
                const std::chrono::duration<double, std::micro> took =
                    std::chrono::steady_clock::now() - begin;
                times.push_back(took.count());
            }
        }
    }
    std::ranges::sort(times);
    state.counters["plans"] = static_cast<double>(times.size());
    state.counters["p50_us"] = times[times.size() / 2];
    state.counters["p99_us"] = times[times.size() * 99 / 100];
    state.counters["max_us"] = times.back();
}
BENCHMARK(all_transitions)->Arg(0)->Arg(30)->Iterations(1)->Unit(benchmark::kMillisecond);

}  // namespace
