// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string>
#include <vector>

#include "base/result.h"
#include "catalog/gpu_models.h"
#include "sizing/memory.h"

namespace aliquot::sizing {

/// Whether a model runs on GPUs that one has.
struct CardFit {
    unsigned count =
        1;  // GPUs that share it: the fewest that hold it, else those that were asked for
    bool fits = false;
    double per_gpu_gib = 0;   // what it takes of each
    double gpu_gib = 0;       // what each has
    double usable_gib = 0;    // less 5 %
    std::string problem;      // why not; empty: it fits
    double most_context = 0;  // tokens at the batch that was asked for; 0: it has no cache
    double most_batch = 0;    // at the context that was asked for
    double alone_gib = 0;     // what it takes of a single one
    std::string
        alone_smaller;  // the first number format in which a single one holds it; empty: none
    std::string
        alone_less;    // "with 8192 tokens or at batch 2": how a single one holds it; empty: not so
    std::string less;  // the same for those that were asked for
    bool not_known = false;  // whether it fits: the sum leaves out most of what it takes
    std::string smaller;  // "int8": the first number format that would fit; empty: none, or no need
};

/// Counts of GPUs that a model is parted over.
inline constexpr std::array<unsigned, 5> kParallelCounts{1, 2, 4, 8, 16};

/// What a model may take of a GPU of so much memory: all but 5 %, for what the allocator scatters.
constexpr double usable_by_a_model(double memory) { return memory * 0.95; }

/// Whether the card computes in the format of the weights: fp8 from 8.9. Before, from 7.5, it only keeps weights in
/// it and computes in 16 bits (vLLM's weight-only FP8).
bool computes_in(const catalog::GpuModel& model, const Load& load);

/// The formats that fp8 and bf16 need a newer card for: empty, or "bf16 needs compute capability 8.0, ...".
std::string format_problem(const catalog::GpuModel& model, const Load& load);

/// Whether it is worth a word that another number format takes less: not of what its maker stores in about as few
/// bits (gpt-oss in MXFP4, in int4).
bool is_smaller(const ModelShape& shape, Dtype dtype, Dtype than);

/// What a model is loaded in on this card when nobody says: usual_dtype(), bf16 to train it, and fp16 where
/// bf16 needs a newer card.
Dtype usual_dtype_on(const ModelShape& shape, const catalog::GpuModel& model,
                     Task task = Task::kInference);

/// Whether its layers tell what training it takes: not of vision, speech and diffusion models.
bool trains_by_shape(const ModelShape& shape);

/// Whether `load.gpus` can share the model: a count that divides the heads or those of the cache; only one for
/// what serves from a single GPU (encoders, vision, speech, diffusion).
bool divides_heads(const ModelShape& shape, const Load& load);

/// memory_gib   of one GPU
/// most         GPUs that there are; kParallelCounts of them are tried
/// errors       those of estimate_memory
Result<CardFit> fit_card(const ModelShape& shape, const Load& load, const catalog::GpuModel& model,
                         double memory_gib, unsigned most);

}  // namespace aliquot::sizing
