// SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>

#include <cstdint>
#include <string>

#include "detect/detect.h"

namespace aliquot::detect {
namespace {

constexpr std::size_t kBytes = std::size_t{1} << 20U;

/// Plain sentences, every eighth of which has a word of the table.
std::string prose() {
    constexpr const char* kSentence =
        "The clerk opened the second drawer, counted the forms that were left over from the week "
        "before and wrote the number into the margin of a long green ledger. ";
    constexpr const char* kWord = "Nobody asked whether the model should be trained on a GPU. ";
    std::string text;
    for (unsigned i = 0; text.size() < kBytes; ++i) text += i % 8 == 7 ? kWord : kSentence;
    text.resize(kBytes);
    return text;
}

std::string noise() {
    std::string text(kBytes, '\0');
    std::uint64_t state = 88172645463325252ULL;
    for (char& byte : text) {
        state ^= state << 13U;
        state ^= state >> 7U;
        state ^= state << 17U;
        byte = static_cast<char>(state >> 32U);
    }
    return text;
}

void run(benchmark::State& state, const std::string& text, bool legacy) {
    for (auto round : state) {
        (void)round;
        auto verdict = legacy ? detect_legacy(text) : detect(text, Kind::kText);
        benchmark::DoNotOptimize(verdict);
    }
    state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) *
                            static_cast<std::int64_t>(text.size()));
}

void smart_prose(benchmark::State& state) { run(state, prose(), false); }
void smart_noise(benchmark::State& state) { run(state, noise(), false); }
void legacy_prose(benchmark::State& state) { run(state, prose(), true); }
void legacy_noise(benchmark::State& state) { run(state, noise(), true); }
BENCHMARK(smart_prose);
BENCHMARK(smart_noise);
BENCHMARK(legacy_prose);
BENCHMARK(legacy_noise);

/// One line, as `--lines` reads it.
void smart_line(benchmark::State& state) {
    run(state, "Fine-tune a 7B model with LoRA on two A100 80GB, 4-bit base", false);
}
BENCHMARK(smart_line);

}  // namespace
}  // namespace aliquot::detect
