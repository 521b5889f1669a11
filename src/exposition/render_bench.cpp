// SPDX-License-Identifier: Apache-2.0
// The answer to one scrape, without its way over the network: 8 GPUs with 8 containers each.
#include <benchmark/benchmark.h>

#include "exposition/render.h"
#include "exposition/test_scenes.h"

namespace aliquot::exposition {
namespace {

void measure(benchmark::State& state, Format format, Compat compat) {
    const telemetry::Snapshot snapshot = crowd(8, 8);
    Style style;
    style.format = format;
    style.compat = compat;
    std::size_t bytes = 0;
    for (auto _ : state) {
        const std::string text = render(snapshot, style);
        bytes = text.size();
        benchmark::DoNotOptimize(text.data());
    }
    state.counters["bytes"] = static_cast<double>(bytes);
}

void text_classic(benchmark::State& state) { measure(state, Format::kText, Compat::kClassic); }
void text_both(benchmark::State& state) { measure(state, Format::kText, Compat::kBoth); }
void text_off(benchmark::State& state) { measure(state, Format::kText, Compat::kOff); }
void open_metrics_classic(benchmark::State& state) {
    measure(state, Format::kOpenMetrics, Compat::kClassic);
}

BENCHMARK(text_classic)->Unit(benchmark::kMicrosecond);
BENCHMARK(open_metrics_classic)->Unit(benchmark::kMicrosecond);
BENCHMARK(text_both)->Unit(benchmark::kMicrosecond);
BENCHMARK(text_off)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace aliquot::exposition
