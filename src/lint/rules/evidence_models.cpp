// SPDX-License-Identifier: Apache-2.0
// GPU models that a text names.
#include <algorithm>
#include <cctype>
#include <optional>

#include "base/text.h"
#include "lint/rules/evidence.h"
#include "lint/words.h"

namespace aliquot::lint {
namespace {

bool is_word_char(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

struct Piece {
    std::string_view text;
    std::size_t begin = 0;
};

std::vector<Piece> pieces_of(std::string_view text) {
    std::vector<Piece> pieces;
    std::size_t begin = 0;
    for (std::size_t i = 0; i <= text.size(); ++i) {
        if (i < text.size() && is_word_char(text[i])) continue;
        if (i > begin) pieces.push_back({text.substr(begin, i - begin), begin});
        begin = i + 1;
    }
    return pieces;
}

/// "A100", "T4", "H200", "GH200", "L40S", "V100": one or two letters, digits, a letter or two.
bool looks_like_model(std::string_view word) {
    std::size_t i = 0;
    while (i < word.size() && std::isalpha(static_cast<unsigned char>(word[i])) != 0) ++i;
    if (i == 0 || i > 2) return false;
    const std::size_t digits = i;
    while (i < word.size() && is_digit(word[i])) ++i;
    if (i == digits || i - digits > 4) return false;
    return word.size() - i <= 2;
}

bool is_series(std::string_view word) {
    return word == "rtx" || word == "gtx" || word == "titan" || word == "quadro";
}

/// "40" of "(40GB)", "80 GB", "-80GB" behind a model; 0 when there is none near.
unsigned gib_behind(const std::vector<Piece>& pieces, std::size_t at) {
    for (std::size_t i = at + 1; i < pieces.size() && i <= at + 2; ++i) {
        std::string_view word = pieces[i].text;
        std::size_t digits = 0;
        while (digits < word.size() && is_digit(word[digits])) ++digits;
        if (digits == 0 || digits > 3) continue;
        const std::string unit = lower(word.substr(digits));
        const bool apart =
            unit.empty() && i + 1 < pieces.size() &&
            (lower(pieces[i + 1].text) == "gb" || lower(pieces[i + 1].text) == "gib");
        if (unit == "gb" || unit == "g" || unit == "gib" || apart) {
            return static_cast<unsigned>(std::stoul(std::string(word.substr(0, digits))));
        }
    }
    return 0;
}

void keep(std::vector<const catalog::GpuModel*>& models, const catalog::GpuModel* model) {
    if (model == nullptr || std::find(models.begin(), models.end(), model) != models.end()) return;
    models.push_back(model);
}

}  // namespace

std::vector<const catalog::GpuModel*> gpu_models_in(std::string_view text) {
    std::vector<const catalog::GpuModel*> models;
    constexpr std::size_t kLongest = 2'000;
    const std::vector<Piece> pieces = pieces_of(text.substr(0, kLongest));
    std::string series;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
        const std::string word = lower(pieces[i].text);
        const bool digits_only = std::all_of(word.begin(), word.end(), is_digit);
        if (is_series(word)) {
            series = word;
            continue;
        }
        std::string name;
        if (!series.empty() && is_digit(word.front()) && word.size() >= 4 && word.size() <= 6) {
            name = series;
            name += ' ';
            name += word;
        } else if (looks_like_model(pieces[i].text) && !digits_only) {
            name = word;
            series.clear();
        } else {
            if (!digits_only || word.size() != 4) series.clear();
            continue;
        }
        if (i + 1 < pieces.size()) {
            const std::string next = lower(pieces[i + 1].text);
            if (next == "ti" || next == "super" || next == "nvl") {
                if (const auto* model = catalog::find_gpu_model(name + ' ' + next)) {
                    keep(models, model);
                    continue;
                }
                if (next != "nvl") continue;  // another GPU than the one without the word
            }
        }
        const unsigned gib = gib_behind(pieces, i);
        keep(models,
             gib == 0 ? catalog::find_gpu_model(name) : catalog::find_gpu_model(name, gib * 1024));
    }
    return models;
}

std::vector<const catalog::GpuModel*> gpu_models_above(const File& file, int block) {
    if (block < 0 || static_cast<std::size_t>(block) >= file.blocks.size()) return {};
    int heading = file.blocks[static_cast<std::size_t>(block)].heading;
    constexpr int kMostLevels = 16;
    for (int level = 0; level < kMostLevels && heading >= 0; ++level) {
        const auto at = static_cast<std::size_t>(heading);
        if (at >= file.headings.size()) break;
        auto models = gpu_models_in(file.headings[at].text);
        if (!models.empty()) return models;
        heading = file.headings[at].parent;
    }
    return {};
}

}  // namespace aliquot::lint
