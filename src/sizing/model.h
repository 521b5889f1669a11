// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "sizing/dtype.h"

/// From a model, a job or a measurement to GPU memory, GPUs and machines. Pure functions.
namespace aliquot::sizing {

/// How sure a number is. `plan` uses the same words.
enum class Certainty : std::uint8_t { kMeasured, kDeclared, kGuessed };

/// "measured", "declared", "guessed".
std::string_view to_text(Certainty certainty);

/// What of a network decides its memory. 0: not known.
struct ModelShape {
    std::string name;
    std::string kind = "decoder";  // "encoder", "vision", "speech", "diffusion"
    double parameters = 0;         // all of them; all experts of a mixture are resident
    double active_parameters = 0;  // those that work on one token
    unsigned layers = 0;
    unsigned hidden = 0;
    unsigned heads = 0;
    unsigned kv_heads = 0;
    double kv_width = 0;           // values that one token leaves in the cache per layer
    unsigned context = 0;          // longest, in tokens
    unsigned windowed_layers = 0;  // those whose cache keeps the last `window_tokens` tokens only
    unsigned window_tokens = 0;
    double vocabulary = 0;             // words that it knows
    bool tied = false;                 // input and output share one embedding
    std::optional<Dtype> format;       // that its name tells
    double weight_bytes = 0;           // as its maker stores it
    bool served_by_llama_cpp = false;  // what its maker stores, by Ollama: "gpt-oss:20b"
    double working_mib = 0;            // of small models: beside the weights, context included
    double item_mib = 0;               // of small models: for each further item of a batch
    std::string source;                // "table of known models", "config.json", ...
    std::string arithmetic;            // how `parameters` came about
    Certainty certainty = Certainty::kDeclared;

    [[nodiscard]] bool has_cache() const { return layers > 0 && kv_width > 0; }
};

/// A model by its name: from the table of known ones, else from the size in the name ("my-7b",
/// "8x7B"), with the shape of the known model that is nearest in size.
/// errors   kNotFound: neither known nor with a size in its name; names the nearest known one
Result<ModelShape> model_by_name(std::string_view name);

/// Reads a Hugging Face config.json (decoders, mixtures of experts, latent attention, BERT-like
/// encoders, Whisper). Any bytes; never throws.
/// errors   kInvalidInput: no JSON, or without the fields that tell the shape; kUnsupported: more
///          than any model has
Result<ModelShape> read_model_config(std::string_view name, std::string_view text);

/// Reads the header of a .safetensors file: exact parameters and bytes, no weights are read.
/// bytes    the beginning of the file, at least the header; what follows is passed over
/// errors   kInvalidInput: no such header, one above 16 MiB or above what was given
Result<ModelShape> read_safetensors(std::string_view name, std::string_view bytes);

/// The bytes of the header that a .safetensors file begins with, 8 bytes of length included; 0
/// when the 8 bytes cannot be one.
std::uint64_t safetensors_header_bytes(std::string_view first_eight);

}  // namespace aliquot::sizing
