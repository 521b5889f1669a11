// SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "detect/detect.h"

namespace aliquot::detect {
namespace {

constexpr std::size_t kBytes = std::size_t{1} << 20U;

/// `piece` again and again.
std::string filled(std::string_view piece) {
    std::string text;
    while (text.size() < kBytes) text += piece;
    text.resize(kBytes);
    return text;
}

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

std::string manifests() {
    return filled(R"(apiVersion: apps/v1
kind: Deployment
metadata:
  name: trainer-0
  labels: {app: trainer, tier: batch}
spec:
  replicas: 3
  template:
    spec:
      containers:
      # the same image as the nightly job
      - name: main
        image: "registry.example.com/team/trainer:1.4.2"
        args: ["--epochs=90", "--lr", "0.001"]
        resources:
          limits:
            cpu: "8"
            memory: 32Gi
            nvidia.com/gpu: 2
---
)");
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

std::string many_languages() {
    return filled(
        "Модель обучается на сервере без ускорителя — так дешевле. 今日は天気がいいですね。 "
        "Größe geändert, “naïve” café… ");
}

std::string keywords() {
    return filled("train the model on a gpu with cuda 12 no inference on cpu, pytorch vllm a100 ");
}

void run(benchmark::State& state, const std::string& text, Kind kind) {
    for (auto round : state) {
        (void)round;
        auto verdict = detect(text, kind);
        benchmark::DoNotOptimize(verdict);
    }
    state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) *
                            static_cast<std::int64_t>(text.size()));
}

void run_keywords(benchmark::State& state, const std::string& text) {
    for (auto round : state) {
        (void)round;
        auto verdict = detect_keywords(text);
        benchmark::DoNotOptimize(verdict);
    }
    state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) *
                            static_cast<std::int64_t>(text.size()));
}

void smart_prose(benchmark::State& state) { run(state, prose(), Kind::kText); }
void smart_yaml(benchmark::State& state) { run(state, manifests(), Kind::kManifest); }
void smart_noise(benchmark::State& state) { run(state, noise(), Kind::kText); }
void smart_noise_as_code(benchmark::State& state) { run(state, noise(), Kind::kCode); }
void smart_long_word(benchmark::State& state) { run(state, filled("a"), Kind::kText); }
void smart_spaces(benchmark::State& state) { run(state, filled(" "), Kind::kText); }
void smart_digits(benchmark::State& state) { run(state, filled("7"), Kind::kText); }
void smart_utf8(benchmark::State& state) { run(state, many_languages(), Kind::kText); }
void smart_keywords(benchmark::State& state) { run(state, keywords(), Kind::kText); }
void smart_numbers(benchmark::State& state) { run(state, filled("12 3.5,40 "), Kind::kText); }
void smart_denials(benchmark::State& state) { run(state, filled("no gpu "), Kind::kText); }
void smart_unknown_units(benchmark::State& state) { run(state, filled("7q "), Kind::kText); }
void smart_unknown_names(benchmark::State& state) { run(state, filled("aBcdefghi "), Kind::kText); }
void smart_letters(benchmark::State& state) { run(state, filled("a "), Kind::kText); }
void keywords_prose(benchmark::State& state) { run_keywords(state, prose()); }
void keywords_noise(benchmark::State& state) { run_keywords(state, noise()); }
BENCHMARK(smart_prose);
BENCHMARK(smart_yaml);
BENCHMARK(smart_noise);
BENCHMARK(smart_noise_as_code);
BENCHMARK(smart_long_word);
BENCHMARK(smart_spaces);
BENCHMARK(smart_digits);
BENCHMARK(smart_utf8);
BENCHMARK(smart_keywords);
BENCHMARK(smart_numbers);
BENCHMARK(smart_letters);
BENCHMARK(smart_denials);
BENCHMARK(smart_unknown_units);
BENCHMARK(smart_unknown_names);
BENCHMARK(keywords_prose);
BENCHMARK(keywords_noise);

/// One line, as `--lines` reads it.
void smart_line(benchmark::State& state) {
    run(state, "Fine-tune a 7B model with LoRA on two A100 80GB, 4-bit base", Kind::kUnknown);
}
BENCHMARK(smart_line);

void smart_line_without_evidence(benchmark::State& state) {
    run(state, "Send weekly invoice emails to all customers of the shop", Kind::kUnknown);
}
BENCHMARK(smart_line_without_evidence);

}  // namespace
}  // namespace aliquot::detect
