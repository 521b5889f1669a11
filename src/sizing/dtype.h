// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

/// Number formats of weights.
namespace aliquot::sizing {

enum class Dtype : std::uint8_t {
    kFp32,
    kBf16,
    kFp16,
    kInt8,
    kFp8,
    kInt4,     // AWQ, GPTQ, NF4: four bits and scales, embeddings in 16 bits
    kShipped,  // as its maker stores it: ModelShape::weight_bytes, where that is known
    kNvfp4,    // four bits and a scale for every 16, embeddings in 16 bits
    kQ2K,      // from here on: files of llama.cpp and Ollama (GGUF)
    kQ3KM,
    kQ4Zero,
    kQ4KM,
    kQ5KM,
    kQ6K,
    kQ8Zero
};

/// "bf16", "float16", "int4", "awq", "q4_K_M" ...; kInvalidInput names the known ones.
Result<Dtype> parse_dtype(std::string_view word);
std::string_view to_text(Dtype dtype);

/// Bytes per parameter as stored; int4 with 10 % for its scales, GGUF as llama.cpp reports it of Llama 3.
/// kShipped: 2.
double bytes_per_parameter(Dtype dtype);

/// A file of llama.cpp or Ollama.
bool is_gguf(Dtype dtype);

/// Formats that leave the embeddings in 16 bits.
bool keeps_embeddings(Dtype dtype);

/// A name without the number format in it: "Mistral-7B-Instruct-v0.2-AWQ" is "Mistral-7B-Instruct-v0.2" in
/// int4, "llama3:8b-instruct-q4_K_M" is "llama3:8b-instruct". A GGUF that does not say which is q4_k_m.
struct NamedFormat {
    std::string name;
    std::optional<Dtype> format;
};
NamedFormat split_format(std::string_view name);

}  // namespace aliquot::sizing
