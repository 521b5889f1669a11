// SPDX-License-Identifier: Apache-2.0
#include "sizing/dtype.h"

#include <array>

#include "base/nearest_word.h"
#include "base/text.h"

namespace aliquot::sizing {
namespace {

struct DtypeWord {
    std::string_view word;
    Dtype dtype;
};

// The first of each is its name, in the order of Dtype.
constexpr std::array<DtypeWord, 46> kDtypeWords{
    {{"fp32", Dtype::kFp32},       {"bf16", Dtype::kBf16},     {"fp16", Dtype::kFp16},
     {"int8", Dtype::kInt8},       {"fp8", Dtype::kFp8},       {"int4", Dtype::kInt4},
     {"shipped", Dtype::kShipped}, {"nvfp4", Dtype::kNvfp4},   {"q2_k", Dtype::kQ2K},
     {"q3_k_m", Dtype::kQ3KM},     {"q4_0", Dtype::kQ4Zero},   {"q4_k_m", Dtype::kQ4KM},
     {"q5_k_m", Dtype::kQ5KM},     {"q6_k", Dtype::kQ6K},      {"q8_0", Dtype::kQ8Zero},
     {"native", Dtype::kShipped},  {"mxfp4", Dtype::kShipped}, {"float32", Dtype::kFp32},
     {"float", Dtype::kFp32},      {"bfloat16", Dtype::kBf16}, {"float16", Dtype::kFp16},
     {"half", Dtype::kFp16},       {"float8", Dtype::kFp8},    {"e4m3", Dtype::kFp8},
     {"w8a8", Dtype::kInt8},       {"8bit", Dtype::kInt8},     {"w4a16", Dtype::kInt4},
     {"4bit", Dtype::kInt4},       {"nf4", Dtype::kInt4},      {"awq", Dtype::kInt4},
     {"gptq", Dtype::kInt4},       {"bnb", Dtype::kInt4},      {"fp4", Dtype::kNvfp4},
     {"q3_k_s", Dtype::kQ3KM},     {"q3_k_l", Dtype::kQ3KM},   {"q4_1", Dtype::kQ4KM},
     {"q4_k_s", Dtype::kQ4Zero},   {"iq4_xs", Dtype::kQ4Zero}, {"iq4_nl", Dtype::kQ4Zero},
     {"q4_k", Dtype::kQ4KM},       {"q4", Dtype::kQ4KM},       {"q5_k_s", Dtype::kQ5KM},
     {"q5_0", Dtype::kQ5KM},       {"q5", Dtype::kQ5KM},       {"q6", Dtype::kQ6K},
     {"q8", Dtype::kQ8Zero}}};

bool is_of_word(char c) { return is_letter(c) || is_digit(c) || c == '_'; }

/// Where a word stands in lower-case text with nothing that continues it on either side; npos: nowhere.
std::size_t find_whole(std::string_view text, std::string_view word) {
    for (std::size_t at = text.find(word); at != std::string_view::npos;
         at = text.find(word, at + 1)) {
        const std::size_t end = at + word.size();
        const bool begins = at > 0 && !is_of_word(text[at - 1]);
        if (begins && (end == text.size() || !is_of_word(text[end]))) return at;
    }
    return std::string_view::npos;
}

/// Takes a word and the sign before it out of a name.
bool take(std::string& name, std::string_view word) {
    const std::size_t at = find_whole(lower(name), word);
    if (at == std::string::npos) return false;
    // "llama3:q8_0" keeps its colon off as well.
    name.erase(at - 1, word.size() + 1);
    return true;
}

}  // namespace

Result<Dtype> parse_dtype(std::string_view word) {
    for (const DtypeWord& known : kDtypeWords) {
        if (same_letters(known.word, word)) return known.dtype;
    }
    return Error{ErrorCode::kInvalidInput,
                 "'" + std::string(word) +
                     "' is not a number format; fp32, bf16, fp16, fp8, int8, int4, nvfp4, q2_k, "
                     "q3_k_m, q4_0, q4_k_m, q5_k_m, q6_k, q8_0 or shipped is expected"};
}

std::string_view to_text(Dtype dtype) { return kDtypeWords[static_cast<std::size_t>(dtype)].word; }

double bytes_per_parameter(Dtype dtype) {
    // GGUF: 3.16, 4.00, 4.64, 4.89, 5.70, 6.57 and 8.50 bits.
    constexpr std::array<double, 15> kBytes{4,     2,   2,    1,    1,     0.55, 2,    0.5625,
                                            0.395, 0.5, 0.58, 0.61, 0.713, 0.82, 1.063};
    return kBytes[static_cast<std::size_t>(dtype)];
}

bool is_gguf(Dtype dtype) { return dtype >= Dtype::kQ2K; }

bool keeps_embeddings(Dtype dtype) { return dtype == Dtype::kInt4 || dtype == Dtype::kNvfp4; }

NamedFormat split_format(std::string_view name) {
    NamedFormat found{std::string(name), std::nullopt};
    const bool gguf = take(found.name, "gguf");
    for (const DtypeWord& known : kDtypeWords) {
        if (known.dtype == Dtype::kShipped || known.word.size() < 3) continue;
        if (!take(found.name, known.word)) continue;
        if (!found.format) found.format = known.dtype;
    }
    if (!found.format && gguf) found.format = Dtype::kQ4KM;
    return found;
}

}  // namespace aliquot::sizing
