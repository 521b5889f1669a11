// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sizing/dtype.h"
#include "sizing/model.h"

namespace aliquot::sizing {

enum class Task : std::uint8_t { kInference, kTrainFull, kTrainLora, kTrainQlora };
enum class Optimizer : std::uint8_t { kAdam, kAdam8bit, kSgdMomentum, kAdafactor };
enum class Checkpointing : std::uint8_t { kNone, kSelective, kFull };

std::string_view to_text(Task task);

/// What a model is loaded in when nobody says: the format in its name, else as it ships where that is
/// known, else bf16.
Dtype usual_dtype(const ModelShape& shape);

/// Bytes of the weights in a number format; those of its maker where the format is kShipped.
double weight_bytes(const ModelShape& shape, Dtype dtype);

/// What is done with a model.
struct Load {
    Task task = Task::kInference;
    Dtype dtype = Dtype::kBf16;  // of the weights
    Dtype cache_dtype = Dtype::kFp16;
    Optimizer optimizer = Optimizer::kAdam;
    Checkpointing checkpointing = Checkpointing::kFull;
    double context = 0;  // tokens; 0: 4096 or the longest the model knows
    double batch = 1;
    unsigned gpus = 1;            // that share one copy of the model
    unsigned zero_stage = 3;      // of training over several GPUs: 0 to 3
    double lora_percent = 1.5;    // trainable share of the parameters
    bool fp32_gradients = false;  // 18 in place of 16 bytes per parameter
};

/// One line of the sum.
struct Term {
    std::string name;        // "weights"
    double gib = 0;          // over all GPUs
    double per_gpu_gib = 0;  // on the fullest one
    std::string arithmetic;  // "8.03 B x 2 B (bf16) = 14.96 GiB"
};

struct Need {
    std::vector<Term> terms;
    double total_gib = 0;
    double per_gpu_gib = 0;
    double context = 0;   // what was reckoned with
    std::string assumed;  // what the sum takes for granted, and how far it was off elsewhere
    std::vector<std::string> notes;  // other ways to reckon, and which one is used
    Certainty certainty = Certainty::kDeclared;

    [[nodiscard]] double of(std::string_view term) const;
};

/// GPU memory of a model at work.
///
/// inference   weights, cache, and on each GPU what a server such as vLLM takes beside them: CUDA context,
///             graphs, communication, activations of the tokens that are worked on at once (at most 8192),
///             scores of 256 sequences. Of a GGUF file what llama.cpp takes, with 512 tokens at once
/// training    weights, gradients, optimizer (16 bytes per parameter with Adam in mixed precision),
///             activations after Korthikanti et al., logits, CUDA context and 5 % of allocator slack
/// gpus > 1    inference: tensor parallel; training: ZeRO of the given stage
/// errors      kInvalidInput: a batch, context, count or stage that is out of range
/// source      held against published figures: published_memory.tsv beside the tests
Result<Need> estimate_memory(const ModelShape& shape, const Load& load);

}  // namespace aliquot::sizing
