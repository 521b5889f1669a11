// SPDX-License-Identifier: Apache-2.0
#include "catalog/models.h"

#include <algorithm>
#include <array>

#include "base/nearest_word.h"
#include "base/text.h"
#include "catalog/embedded.h"
#include "catalog/table.h"

namespace aliquot::catalog {
namespace {

constexpr double kMillion = 1e6;

bool is_variant(std::string_view word) {
    constexpr std::array<std::string_view, 26> kNoise{
        "meta", "instruct", "chat",      "hf",   "it",   "gguf",   "awq", "gptq", "fp16",
        "bf16", "fp8",      "int4",      "int8", "v1",   "v01",    "v02", "v03",  "4bit",
        "8bit", "onnx",     "quantized", "4k",   "128k", "latest", "qat", "v10"};
    return std::ranges::find(kNoise, word) != kNoise.end();
}

/// "2506" of "Mistral-Small-3.2-24B-Instruct-2506": the month of a release.
bool is_month(std::string_view word) {
    constexpr std::size_t kDigits = 4;
    return word.size() == kDigits && word[0] == '2' && std::ranges::all_of(word, is_digit) &&
           word.substr(2) >= "01" && word.substr(2) <= "12";
}

/// Letters and digits only, without the maker and the words that say nothing of the size.
/// months   whether the month of a release counts
std::string plain(std::string_view name, bool months = true) {
    constexpr std::size_t kLongest = 128;
    name = name.substr(0, kLongest);
    name.remove_prefix(name.find_last_of('/') + 1);  // npos + 1 is 0
    std::string result;
    std::string word;
    const auto take = [&result, &word, months] {
        if (!is_variant(word) && (months || !is_month(word))) result += word;
        word.clear();
    };
    for (const char c : name) {
        const char small = lower(c);
        if ((small >= 'a' && small <= 'z') || (small >= '0' && small <= '9')) {
            word += small;
        } else if (small != '.') {  // "2.5" is one word
            take();
        }
    }
    take();
    return result;
}

struct Known {
    std::vector<KnownModel> models;
    std::vector<std::vector<std::string>> spellings;  // one list for each model
    std::vector<KnownImage> images;
};

KnownModel model_of(const std::vector<std::string_view>& row) {
    KnownModel model;
    model.key = row[0];
    model.aliases = list_of(row[1]);
    model.kind = row[2];
    model.parameters = number_of(row[3]) * kMillion;
    model.active_parameters = number_of(row[4]) * kMillion;
    model.layers = count_of(row[5]);
    model.hidden = count_of(row[6]);
    model.heads = count_of(row[7]);
    model.kv_heads = count_of(row[8]);
    model.kv_width = count_of(row[9]);
    model.context = count_of(row[10]);
    model.working_mib = count_of(row[11]);
    model.item_mib = count_of(row[12]);
    model.shipped_gib = number_of(row[13]);
    model.windowed_layers = count_of(row[14]);
    model.window_tokens = count_of(row[15]);
    model.vocabulary = number_of(row[16]);
    model.tied = row[17] == "tied";
    return model;
}

KnownImage image_of(const std::vector<std::string_view>& row) {
    KnownImage image;
    image.word = row[0];
    image.what = row[1];
    image.kind = row[2];
    image.memory_gib = number_of(row[3]);
    image.duty_percent = count_of(row[4]);
    image.bursty = row[5] == "bursty";
    image.takes_whole_gpu = row[6] == "whole";
    return image;
}

const Known& known() {
    static const Known kKnown = [] {
        Known made;
        if (const auto table = read_table(kModelTable)) {
            for (const auto& row : table->rows) {
                KnownModel model = model_of(row);
                std::vector<std::string> spellings{plain(model.key)};
                for (const auto alias : model.aliases) spellings.push_back(plain(alias));
                made.models.push_back(std::move(model));
                made.spellings.push_back(std::move(spellings));
            }
        }
        if (const auto table = read_table(kGpuImageTable)) {
            for (const auto& row : table->rows) made.images.push_back(image_of(row));
        }
        return made;
    }();
    return kKnown;
}

}  // namespace

std::span<const KnownModel> known_models() { return known().models; }

const KnownModel* find_known_model(std::string_view name) {
    const Known& all = known();
    for (const bool months : {true, false}) {
        const std::string wanted = plain(name, months);
        if (wanted.empty()) return nullptr;
        for (std::size_t i = 0; i < all.models.size(); ++i) {
            const auto& spellings = all.spellings[i];
            if (std::ranges::find(spellings, wanted) != spellings.end()) return &all.models[i];
        }
    }
    return nullptr;
}

std::string_view nearest_known_model(std::string_view name) {
    std::vector<std::string_view> keys;
    for (const KnownModel& model : known().models) keys.push_back(model.key);
    name.remove_prefix(name.find_last_of('/') + 1);
    return nearest_word(name, keys);
}

const KnownImage* find_known_image(std::string_view image) {
    image = image.substr(0, image.find('@'));
    const std::size_t colon = image.rfind(':');
    if (colon != std::string_view::npos && image.find('/', colon) == std::string_view::npos) {
        image = image.substr(0, colon);
    }
    const std::string name = lower(image);
    for (const KnownImage& one : known().images) {
        if (name.find(one.word) != std::string::npos) return &one;
    }
    return nullptr;
}

}  // namespace aliquot::catalog
