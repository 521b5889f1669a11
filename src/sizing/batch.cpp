// SPDX-License-Identifier: Apache-2.0
#include "sizing/batch.h"

#include <algorithm>
#include <array>
#include <bit>

#include "base/number.h"

namespace aliquot::sizing {
namespace {

unsigned floor_power_of_two(double value) {
    constexpr double kMost = 1U << 30U;
    if (!(value >= 1)) return 1;
    return std::bit_floor(static_cast<unsigned>(std::min(value, kMost)));
}

}  // namespace

BatchAdvice advise_batch(double memory_gib, const SampleCost& cost) {
    constexpr double kShare = 0.8;
    BatchAdvice advice;
    advice.memory_gib = memory_gib;
    const double share = kShare * memory_gib;
    advice.batch = floor_power_of_two(share);
    advice.formula = "floor_pow2(0.8 x " + decimal_text(memory_gib) + ") = floor_pow2(" +
                     decimal_text(share) + ") = " + std::to_string(advice.batch);
    const double room = memory_gib - cost.reserve_gib - cost.weights_gib;
    const double samples = cost.per_sample_gib > 0 ? room / cost.per_sample_gib : 0;
    advice.by_sample = samples < 1 ? 0 : floor_power_of_two(samples);
    advice.sample_formula = "floor_pow2((" + decimal_text(memory_gib) + " - " +
                            decimal_text(cost.reserve_gib) + " reserve - " +
                            decimal_text(cost.weights_gib) + " weights) / " +
                            decimal_text(cost.per_sample_gib) + " per sample) = floor_pow2(" +
                            decimal_text(samples) + ") = " + std::to_string(advice.by_sample);
    return advice;
}

std::span<const std::string_view> out_of_memory_advice() {
    static constexpr std::array<std::string_view, 6> kAdvice{
        "reduce the batch size: halve it until it fits",
        "gradient checkpointing (training): trades compute for activations",
        "mixed precision (FP16, or BF16 from compute capability 8.0)",
        "a larger GPU or machine",
        "fewer replicas on the GPU",
        "a limit in the framework: gpu_mem_limit of ONNX Runtime, memory growth of TensorFlow"};
    return kAdvice;
}

std::vector<unsigned> halvings(unsigned batch) {
    std::vector<unsigned> steps;
    for (unsigned next = batch / 2; next >= 1; next /= 2) steps.push_back(next);
    return steps;
}

}  // namespace aliquot::sizing
