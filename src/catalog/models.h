// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace aliquot::catalog {

/// A neural network that people run, and its shape. 0: not known, or it has no such thing.
struct KnownModel {
    std::string_view key;  // "llama-3-8b"
    std::vector<std::string_view> aliases;
    std::string_view kind;         // "decoder", "encoder", "vision", "speech", "diffusion"
    double parameters = 0;         // all of them, not in millions
    double active_parameters = 0;  // those that work on one token
    unsigned layers = 0;
    unsigned hidden = 0;
    unsigned heads = 0;
    unsigned kv_heads = 0;
    unsigned kv_width = 0;         // values that one token leaves in the cache per layer
    unsigned context = 0;          // longest, in tokens
    unsigned working_mib = 0;      // estimate: beside the weights, CUDA context included
    unsigned item_mib = 0;         // estimate: for each further item of a batch
    unsigned windowed_layers = 0;  // those that remember the last `window_tokens` tokens only
    unsigned window_tokens = 0;
    double vocabulary = 0;   // words that it knows
    bool tied = false;       // input and output share one embedding
    double shipped_gib = 0;  // its weight files, where its maker stores neither 16 nor 32 bits
};

std::span<const KnownModel> known_models();

/// "llama-3-8b", "meta-llama/Meta-Llama-3-8B-Instruct", "Qwen2.5-7B-Instruct-AWQ", "llama3:8b";
/// nullptr when there is none.
const KnownModel* find_known_model(std::string_view name);

/// The key that is most like an unknown name; empty when none is near.
std::string_view nearest_known_model(std::string_view name);

/// A container image that people run on GPUs, and what it usually takes.
struct KnownImage {
    std::string_view word;  // part of the image's name
    std::string_view what;  // "speech synthesis (Kokoro)"
    std::string_view kind;  // a workload kind: "inference", "training", "notebook", ...
    double memory_gib = 0;  // 0: depends on the job
    unsigned duty_percent = 0;
    bool bursty = false;
    bool takes_whole_gpu = false;
};

/// By the image's repository and name, not its registry or tag; nullptr when there is none.
const KnownImage* find_known_image(std::string_view image);

}  // namespace aliquot::catalog
