// SPDX-License-Identifier: Apache-2.0
#include "sizing/model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "base/number.h"
#include "base/sentence.h"
#include "base/text.h"
#include "base/units.h"
#include "catalog/models.h"

namespace aliquot::sizing {
namespace {

// Of a mixture "8x7B" the experts share attention and embeddings: Mixtral has 46.7, not 56.
constexpr double kExpertShare = 0.84;

constexpr std::size_t kShortestName = 3;  // letters: "llama70b" is 70 B, "a13b" is not 13 B

/// A number at `at` of `text`: "7", "1.5". Moves `at` behind it.
std::optional<double> read_number(std::string_view text, std::size_t& at) {
    const std::size_t first = at;
    while (at < text.size() && (is_digit(text[at]) || text[at] == '.')) ++at;
    return parse_number<double>(text.substr(first, at - first));
}

struct NamedSize {
    double parameters = 0;
    double active = 0;     // those that work on a token, of a mixture: "a3b"; 0: not said
    bool mixture = false;  // of experts: "a3b", "8x7b"
    std::string arithmetic;
};

/// Whether a name says of what else than text its model makes: its memory is not that of a language model.
bool is_other_than_text(std::string_view name) {
    static constexpr std::array<std::string_view, 26> kOtherThanText{
        "t2v",    "i2v",       "ti2v",     "t2i",  "tts",     "xtts",      "asr",
        "video",  "vae",       "sdxl",     "unet", "image",   "diffusion", "wan",
        "wan2",   "cogvideox", "mochi",    "ltx",  "flux",    "kolors",    "parakeet",
        "canary", "seamless",  "musicgen", "bark", "wav2vec2"};
    std::string word;
    const auto known = [&word] {
        const bool is = std::ranges::find(kOtherThanText, word) != kOtherThanText.end();
        word.clear();
        return is;
    };
    for (const char c : name) {
        if (is_letter(c) || is_digit(c)) {
            word += lower(c);
        } else if (known()) {
            return true;
        }
    }
    return known();
}

/// "3" of "80b-a3b": billions that work on a token; 0: the name says none.
double active_in(std::string_view name) {
    const std::size_t at = lower(name).rfind("-a");
    if (at == std::string::npos) return 0;
    std::size_t end = at + 2;
    const auto value = read_number(name, end);
    const bool unit = end < name.size() && (name[end] | 0x20) == 'b';
    const bool ends = unit && (end + 1 == name.size() || !is_letter(name[end + 1]));
    return value && ends ? *value * kBillion : 0;
}

/// "17B-16E" tells what works on a token and how many experts there are, not the parameters in all.
bool tells_experts_only(std::string_view name) {
    const std::string small = lower(name);
    for (std::size_t at = small.find("b-"); at != std::string::npos;
         at = small.find("b-", at + 1)) {
        std::size_t end = at + 2;
        const bool number = read_number(small, end).has_value();
        const bool before = at > 0 && is_digit(small[at - 1]);
        const bool ends = end + 1 >= small.size() || !is_letter(small[end + 1]);
        if (before && number && end < small.size() && small[end] == 'e' && ends) return true;
    }
    return false;
}

std::size_t letters_before(std::string_view name, std::size_t at) {
    std::size_t letters = 0;
    while (letters < at && is_letter(name[at - letters - 1])) ++letters;
    return letters;
}

/// The first "7b", "1.5B", "350m" or "8x7b" that stands as a word of its own, or "70b" behind a name.
std::optional<NamedSize> size_in(std::string_view name) {
    std::size_t at = 0;
    while (at < name.size()) {
        if (!is_digit(name[at])) {
            ++at;
            continue;
        }
        const std::size_t letters = letters_before(name, at);
        if (letters > 0 && letters < kShortestName) {
            read_number(name, at);  // "a13b", "e4b", "v2.5"
            continue;
        }
        auto value = read_number(name, at);
        double experts = 1;
        if (value && at + 1 < name.size() && (name[at] | 0x20) == 'x' && is_digit(name[at + 1])) {
            experts = *value;
            ++at;
            value = read_number(name, at);
        }
        if (!value || at >= name.size()) continue;
        const char unit = static_cast<char>(name[at] | 0x20);
        const bool ends =
            at + 1 == name.size() || !(is_letter(name[at + 1]) || is_digit(name[at + 1]));
        if ((unit != 'b' && (unit != 'm' || letters > 0)) || !ends) continue;
        const double one = *value * (unit == 'b' ? kBillion : kMillion);
        const bool mixture = experts > 1;
        NamedSize size{mixture ? experts * one * kExpertShare : one, active_in(name), false, ""};
        size.mixture = mixture || size.active > 0;
        size.arithmetic = mixture ? decimal_text(experts) + " experts x " +
                                        decimal_text(one / kBillion) + " B x " +
                                        decimal_text(kExpertShare) + " (shared layers)"
                                  : decimal_text(one / kBillion, 3) + " B from the name";
        return size;
    }
    return std::nullopt;
}

/// Whether a name tells what works on a token, but not the parameters in all: "17B-16E", "A13B".
bool tells_active_only(std::string_view name) {
    return tells_experts_only(name) || (active_in(name) > 0 && !size_in(name));
}

ModelShape shape_of(const catalog::KnownModel& known) {
    ModelShape shape;
    shape.name = known.key;
    shape.kind = known.kind;
    shape.parameters = known.parameters;
    shape.active_parameters = known.active_parameters;
    shape.layers = known.layers;
    shape.hidden = known.hidden;
    shape.heads = known.heads;
    shape.kv_heads = known.kv_heads;
    shape.kv_width = known.kv_width;
    shape.context = known.context;
    shape.windowed_layers = known.windowed_layers;
    shape.window_tokens = known.window_tokens;
    shape.working_mib = known.working_mib;
    shape.item_mib = known.item_mib;
    shape.vocabulary = known.vocabulary;
    shape.tied = known.tied;
    shape.weight_bytes = known.shipped_gib * 1024 * 1024 * 1024;
    shape.source = "table of known models";
    shape.arithmetic = decimal_text(known.parameters / kBillion, 3) + " B from the table";
    if (known.kind != "decoder") shape.certainty = Certainty::kGuessed;
    return shape;
}

/// Lends the shape of the decoder that is nearest in size.
ModelShape shape_like_nearest(std::string_view name, const NamedSize& size) {
    const catalog::KnownModel* nearest = nullptr;
    double least = 0;
    for (const catalog::KnownModel& model : catalog::known_models()) {
        const bool mixture = model.active_parameters < model.parameters;
        if (model.kind != "decoder" || size.mixture != mixture) continue;
        // A cache that is unusual for the size is lent to nobody.
        constexpr unsigned kSmallCache = 1024;
        const bool small = model.parameters > 3 * kBillion && model.kv_width <= kSmallCache;
        const bool wide = model.parameters > 20 * kBillion && model.kv_heads == model.heads;
        if (model.windowed_layers > 0 || (!mixture && (small || wide))) continue;
        const double distance = std::abs(std::log(model.parameters / size.parameters));
        if (nearest != nullptr && distance >= least) continue;
        nearest = &model;
        least = distance;
    }
    ModelShape shape;
    if (nearest != nullptr) shape = shape_of(*nearest);
    const std::string lent = shape.name;
    shape.name = name;
    shape.context = 0;  // how far its own goes is not known
    shape.parameters = size.parameters;
    const bool mixture = size.active > 0 && size.active < size.parameters;
    shape.active_parameters = mixture ? size.active : size.parameters;
    shape.source = "the size in the name; layers and cache as " + lent;
    shape.arithmetic = size.arithmetic;
    shape.certainty = Certainty::kGuessed;
    return shape;
}

}  // namespace

std::string_view to_text(Certainty certainty) {
    switch (certainty) {
        case Certainty::kMeasured:
            return "measured";
        case Certainty::kDeclared:
            return "declared";
        case Certainty::kGuessed:
            break;
    }
    return "guessed";
}

Result<ModelShape> model_by_name(std::string_view name) {
    constexpr std::size_t kLongest = 256;
    if (name.empty() || name.size() > kLongest) {
        return Error{ErrorCode::kInvalidInput,
                     "model: a name of 1 to 256 characters is expected, such as llama-3-8b"};
    }
    const NamedFormat plain = split_format(name);
    const auto formed = [&plain, name](ModelShape shape) {
        shape.format = plain.format;
        // Ollama's names ("llama3:8b") mean files of about four bits unless they say otherwise.
        const bool ollama = name.find(':') != std::string_view::npos && shape.kind == "decoder";
        if (!shape.format && ollama && shape.weight_bytes == 0) shape.format = Dtype::kQ4KM;
        shape.served_by_llama_cpp = ollama && !shape.format;
        return shape;
    };
    if (const catalog::KnownModel* const known = catalog::find_known_model(plain.name)) {
        return formed(shape_of(*known));
    }
    const std::string_view reason =
        is_other_than_text(plain.name)  ? ": a model of pictures, video or sound takes memory that "
                                          "the size in its name does not tell; measure it, and plan "
                                          "with its memory"
        : tells_active_only(plain.name) ? ": its name tells the parameters that work on a token, "
                                          "not all of them; --config config.json or --safetensors "
                                          "FILE will do"
                                        : "";
    if (!reason.empty()) {
        return Error{ErrorCode::kNotFound,
                     "model '" + std::string(name) + "' is not known" + std::string(reason)};
    }
    constexpr double kMostParameters = 1e14;
    const auto size = size_in(plain.name);
    if (size && size->parameters > 0 && size->parameters < kMostParameters) {
        ModelShape shape = formed(shape_like_nearest(name, *size));
        shape.weight_bytes = 0;  // the lender's
        const std::string_view meant = catalog::nearest_known_model(plain.name);
        if (!meant.empty()) shape.source += did_you_mean(meant);
        return shape;
    }
    const std::string_view near = catalog::nearest_known_model(name);
    return Error{ErrorCode::kNotFound,
                 "model '" + std::string(name) + "' is not known" + did_you_mean(near) +
                     "; a size in the name (my-7b), --config config.json or --safetensors FILE "
                     "will do too"};
}

}  // namespace aliquot::sizing
