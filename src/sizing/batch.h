// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace aliquot::sizing {

/// A first batch size for a vision model on a GPU, and how it came about.
struct BatchAdvice {
    double memory_gib = 0;
    unsigned batch = 1;      // floor_pow2(0.8 x memory): 40 -> 32, 80 -> 64, 32 -> 16, 16 -> 8
    std::string formula;     // "floor_pow2(0.8 x 80) = floor_pow2(64) = 64"
    unsigned by_sample = 1;  // floor_pow2((memory - reserve - weights) / per sample); 0: no room
    std::string sample_formula;
};

/// What a sample of training takes, for the second formula. The defaults are YOLOv8 at 640 pixels;
/// 0.94 to 1.18 GiB per sample give the same batches as the first formula.
struct SampleCost {
    double reserve_gib = 2;
    double weights_gib = 0;
    double per_sample_gib = 1.0;
};

/// memory_gib   above 0
BatchAdvice advise_batch(double memory_gib, const SampleCost& cost = {});

/// What to try, in this order, when memory runs out.
std::span<const std::string_view> out_of_memory_advice();

/// The halving search after a failure at `batch`: {32, 16, 8, 4, 2, 1}.
std::vector<unsigned> halvings(unsigned batch);

}  // namespace aliquot::sizing
