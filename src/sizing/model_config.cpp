// SPDX-License-Identifier: Apache-2.0
// Parameters from a config.json. Formulas: sum of the matrices of one layer times the layers, plus
// embeddings; norms and biases where they are more than a rounding error.
#include <algorithm>
#include <array>
#include <cmath>

#include "base/number.h"
#include "base/units.h"
#include "document/yaml.h"
#include "sizing/model.h"
#include "sizing/text.h"

namespace aliquot::sizing {
namespace {

using document::Value;

/// The fields we use, under whatever name a family gives them.
struct Fields {
    double hidden = 0;
    double layers = 0;
    double heads = 0;
    double kv_heads = 0;
    double head_size = 0;
    double inner = 0;  // of the MLP
    double vocabulary = 0;
    double positions = 0;
    bool tied = false;
    std::string family;
};

double first_of(const Value& root, std::initializer_list<std::string_view> keys) {
    for (const std::string_view key : keys) {
        if (const auto value = number_of(root.find(key))) return *value;
    }
    return 0;
}

bool is_true(const Value& root, std::string_view key) {
    const Value* const value = root.find(key);
    return value != nullptr && value->kind == Value::Kind::kBool && value->scalar == "true";
}

bool has(const Value& root, std::string_view key) { return root.find(key) != nullptr; }

/// Families that tie input and output embeddings when the file does not say.
bool ties_by_default(const std::string& family) {
    constexpr std::array<std::string_view, 11> kTying{"gpt2",        "opt",     "gemma",  "gemma2",
                                                      "gemma3_text", "bloom",   "falcon", "mpt",
                                                      "bert",        "roberta", "whisper"};
    return std::ranges::find(kTying, family) != kTying.end();
}

Fields fields_of(const Value& root) {
    Fields f;
    f.family = text_at(root, "model_type");
    f.hidden = first_of(root, {"hidden_size", "n_embd", "d_model"});
    f.layers = first_of(root, {"num_hidden_layers", "n_layer", "n_layers", "num_layers"});
    f.heads = first_of(root, {"num_attention_heads", "n_head", "n_heads"});
    f.kv_heads = first_of(root, {"num_key_value_heads", "num_kv_heads", "n_head_kv"});
    if (is_true(root, "multi_query") && !is_true(root, "new_decoder_architecture")) f.kv_heads = 1;
    if (f.kv_heads == 0) f.kv_heads = f.heads;
    f.head_size = first_of(root, {"head_dim"});
    if (f.head_size == 0 && f.heads > 0) f.head_size = f.hidden / f.heads;
    f.inner = first_of(root, {"intermediate_size", "n_inner", "ffn_dim", "ffn_hidden_size"});
    if (f.inner == 0) f.inner = 4 * f.hidden;
    f.vocabulary = first_of(root, {"vocab_size"});
    f.positions =
        first_of(root, {"max_position_embeddings", "n_positions", "n_ctx", "max_seq_len"});
    f.tied = has(root, "tie_word_embeddings") ? is_true(root, "tie_word_embeddings")
                                              : ties_by_default(f.family);
    return f;
}

bool is_gated(const Value& root, const Fields& f) {
    constexpr std::array<std::string_view, 10> kPlain{
        "gpt2", "gpt_neox", "gptj", "opt", "falcon", "bloom", "mpt", "phi", "starcoder2", "bert"};
    if (std::ranges::find(kPlain, f.family) != kPlain.end()) return false;
    const std::string act = text_at(root, "hidden_act");
    if (f.family == "roberta" || f.family == "gpt_bigcode") return false;
    return act.empty() || act == "silu" || act == "swish" || f.family.starts_with("gemma") ||
           act == "gelu_pytorch_tanh";
}

double attention_of(const Value& root, const Fields& f) {
    const double kv_rank = number_at(root, "kv_lora_rank");
    if (kv_rank > 0) {  // latent attention
        const double rope = number_at(root, "qk_rope_head_dim");
        const double key = number_at(root, "qk_nope_head_dim") + rope;
        const double value = number_at(root, "v_head_dim");
        const double q_rank = number_at(root, "q_lora_rank");
        const double query =
            q_rank > 0 ? f.hidden * q_rank + q_rank * f.heads * key : f.hidden * f.heads * key;
        return query + f.hidden * (kv_rank + rope) + kv_rank * f.heads * (key - rope + value) +
               f.heads * value * f.hidden;
    }
    const double width = f.heads * f.head_size;
    return 2 * f.hidden * width + 2 * f.hidden * f.kv_heads * f.head_size;
}

/// Every how many layers one remembers all tokens, of a family whose files do not say; 0: none does.
double pattern_of(const Value& root, const Fields& f) {
    const double told = first_of(root, {"sliding_window_pattern", "_sliding_window_pattern"});
    if (told >= 1) return told;
    constexpr std::array<std::pair<std::string_view, double>, 4> kUsual{
        {{"gemma2", 2}, {"gemma3_text", 6}, {"cohere2", 4}, {"gpt_oss", 2}}};
    for (const auto& [family, every] : kUsual) {
        if (family == f.family) return every;
    }
    return 0;
}

/// Layers that remember a window only. Not told clearly: none, so that the answer is rather too large.
void add_window(const Value& root, const Fields& f, ModelShape& shape) {
    constexpr double kMost = 1e9;
    const double window = first_of(root, {"sliding_window", "attention_chunk_size"});
    if (window < 1 || window > kMost) return;
    const Value* const types = root.find("layer_types");
    double windowed = 0;
    if (types != nullptr && types->kind == Value::Kind::kSequence) {
        for (const auto& type : types->items) {
            windowed += type.scalar == "sliding_attention" || type.scalar == "chunked_attention";
        }
    } else if (f.family.starts_with("qwen")) {
        if (!is_true(root, "use_sliding_window")) return;
        windowed = f.layers - number_at(root, "max_window_layers", f.layers);
    } else if (const double every = pattern_of(root, f); every > 0) {
        windowed = f.layers - std::floor(f.layers / every);
    } else if (f.family == "mistral" || f.family == "mixtral" || f.family == "phi3") {
        windowed = f.layers;
    }
    if (windowed < 1 || windowed > f.layers) return;
    shape.windowed_layers = static_cast<unsigned>(windowed);
    shape.window_tokens = static_cast<unsigned>(window);
}

struct Mixture {
    double experts = 0;
    double active = 0;
    double inner = 0;         // of one expert
    double shared_inner = 0;  // of what every token passes
    double dense_layers = 0;  // layers without experts
};

Mixture mixture_of(const Value& root, const Fields& f) {
    Mixture m;
    m.experts = first_of(root, {"num_local_experts", "n_routed_experts", "num_experts"});
    m.active = first_of(root, {"num_experts_per_tok", "experts_per_token"});
    m.inner = number_at(root, "moe_intermediate_size", f.inner);
    m.shared_inner = number_at(root, "shared_expert_intermediate_size",
                               number_at(root, "n_shared_experts") * m.inner);
    m.dense_layers = std::min(number_at(root, "first_k_dense_replace"), f.layers);
    return m;
}

ModelShape decoder(const Value& root, const Fields& f) {
    const double factor = is_gated(root, f) ? 3 : 2;
    const double attention = attention_of(root, f);
    const double dense = factor * f.hidden * f.inner;
    const Mixture m = mixture_of(root, f);
    const double expert = factor * f.hidden * m.inner;
    const double shared = factor * f.hidden * m.shared_inner + f.hidden * m.experts;
    const bool is_mixture = m.experts > 1;
    const double sparse_layers = is_mixture ? f.layers - m.dense_layers : 0;
    double embeddings = f.vocabulary * f.hidden * (f.tied ? 1 : 2);
    if (f.family == "gpt2" || f.family == "opt") embeddings += f.positions * f.hidden;
    // Families of before rotary positions have a bias at every matrix.
    const bool biased = !is_gated(root, f) && f.family != "falcon" && f.family != "mpt";
    const double biases = biased ? (4 * f.hidden + f.inner + 3 * f.hidden) * f.layers : 0;
    const double norms = (2 * f.layers + 1) * f.hidden;
    const auto total = [&](double experts_used) {
        return f.layers * attention + (f.layers - sparse_layers) * dense +
               sparse_layers * (experts_used * expert + shared) + embeddings + biases + norms;
    };
    ModelShape shape;
    shape.parameters = total(m.experts);
    shape.active_parameters = is_mixture ? total(m.active) : shape.parameters;
    const double latent = number_at(root, "kv_lora_rank");
    shape.kv_width =
        latent > 0 ? latent + number_at(root, "qk_rope_head_dim") : 2 * f.kv_heads * f.head_size;
    const auto millions = [](double value) { return decimal_text(value / kMillion, 1) + " M"; };
    shape.arithmetic = decimal_text(f.layers) + " layers x (" + millions(attention) +
                       " attention + " +
                       (is_mixture ? decimal_text(m.experts) + " experts x " + millions(expert)
                                   : millions(dense) + " MLP") +
                       ") + " + millions(embeddings) + " embeddings" + (f.tied ? " (tied)" : "");
    return shape;
}

ModelShape encoder(const Fields& f, double types) {
    const double layer = 4 * f.hidden * f.hidden + 2 * f.hidden * f.inner + 9 * f.hidden + f.inner;
    const double embeddings = (f.vocabulary + f.positions + types + 2) * f.hidden;
    ModelShape shape;
    shape.kind = "encoder";
    shape.parameters = f.layers * layer + embeddings + f.hidden * f.hidden + f.hidden;
    shape.active_parameters = shape.parameters;
    shape.arithmetic = decimal_text(f.layers) + " layers x " + decimal_text(layer / kMillion, 1) +
                       " M + " + decimal_text(embeddings / kMillion, 1) + " M embeddings";
    return shape;
}

ModelShape whisper(const Value& root, const Fields& f) {
    const double encoders = number_at(root, "encoder_layers");
    const double decoders = number_at(root, "decoder_layers");
    const double inner = number_at(root, "encoder_ffn_dim", 4 * f.hidden);
    const double attention = 4 * f.hidden * f.hidden + 4 * f.hidden;
    const double mlp = 2 * f.hidden * inner + inner + f.hidden;
    const double mels = number_at(root, "num_mel_bins", 80);
    const double front =
        3 * f.hidden * (mels + f.hidden) + (number_at(root, "max_source_positions", 1500) +
                                            number_at(root, "max_target_positions", 448)) *
                                               f.hidden;
    ModelShape shape;
    shape.kind = "speech";
    shape.parameters = encoders * (attention + mlp) + decoders * (2 * attention + mlp) + front +
                       f.vocabulary * f.hidden;
    shape.active_parameters = shape.parameters;
    shape.arithmetic =
        decimal_text(encoders) + " encoder layers x " +
        decimal_text((attention + mlp) / kMillion, 1) + " M + " + decimal_text(decoders) +
        " decoder layers x " + decimal_text((2 * attention + mlp) / kMillion, 1) + " M + " +
        decimal_text((front + f.vocabulary * f.hidden) / kMillion, 1) + " M embeddings";
    return shape;
}

}  // namespace

Result<ModelShape> read_model_config(std::string_view name, std::string_view text) {
    const auto stream = document::parse_yaml(text);
    if (!stream.errors.empty()) {
        const auto& error = stream.errors.front();
        return Error{ErrorCode::kInvalidInput,
                     std::string(name) + ':' + std::to_string(error.mark.line) + ':' +
                         std::to_string(error.mark.column) + ": " + error.message};
    }
    if (stream.documents.empty() || !stream.documents.front().is_mapping()) {
        return Error{ErrorCode::kInvalidInput,
                     std::string(name) + ": a JSON object is expected, such as a config.json"};
    }
    // Models that see keep the language part one level lower.
    const Value* root = &stream.documents.front();
    const Value* const inner = root->find("text_config");
    if (inner != nullptr && inner->is_mapping() && inner->find("hidden_size") != nullptr) {
        root = inner;
    }
    const Fields f = fields_of(*root);
    const bool is_whisper = f.family == "whisper";
    const double layers =
        is_whisper ? number_at(*root, "encoder_layers") + number_at(*root, "decoder_layers")
                   : f.layers;
    for (const auto& [value, key] :
         {std::pair(f.hidden, "hidden_size"), std::pair(layers, "num_hidden_layers"),
          std::pair(is_whisper ? 1.0 : f.heads, "num_attention_heads"),
          std::pair(f.vocabulary, "vocab_size")}) {
        if (value >= 1) continue;
        return Error{ErrorCode::kInvalidInput,
                     std::string(name) + ": has no '" + key + "' above 0; is it a config.json?"};
    }
    constexpr double kMostWide = 1e6;
    constexpr double kMostParameters = 1e14;
    ModelShape shape = is_whisper                                    ? whisper(*root, f)
                       : f.family == "bert" || f.family == "roberta" ? encoder(f, 2)
                                                                     : decoder(*root, f);
    const bool sane = f.hidden <= kMostWide && layers <= kMostWide && f.heads <= kMostWide &&
                      f.kv_heads <= kMostWide && std::isfinite(shape.parameters) &&
                      shape.parameters <= kMostParameters &&
                      shape.kv_width <= kMostWide * kMostWide &&
                      f.positions <= kMostWide * kMostWide;
    if (!sane) {
        return Error{ErrorCode::kUnsupported,
                     std::string(name) + ": describes a network larger than any that exists"};
    }
    shape.name = text_at(*root, "_name_or_path");
    if (shape.name.empty()) shape.name = name;
    shape.layers = static_cast<unsigned>(layers);
    shape.hidden = static_cast<unsigned>(f.hidden);
    shape.heads = static_cast<unsigned>(f.heads);
    // A latent cache is one for all heads: every GPU keeps a copy.
    shape.kv_heads = number_at(*root, "kv_lora_rank") > 0 ? 1 : static_cast<unsigned>(f.kv_heads);
    shape.vocabulary = shape.kind == "decoder" ? f.vocabulary : 0;
    shape.tied = f.tied;
    constexpr double kLongest = 1e9;
    shape.context = static_cast<unsigned>(std::min(f.positions, kLongest));
    shape.source = "config.json";
    if (shape.has_cache()) add_window(*root, f, shape);
    return shape;
}

}  // namespace aliquot::sizing
