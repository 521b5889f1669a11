// SPDX-License-Identifier: Apache-2.0
#include "detect/model.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "base/number.h"
#include "detect/embedded.h"

namespace aliquot::detect {
namespace {

constexpr std::size_t kWidth = 64;  // of a class, flag or kind in `traits_`
constexpr std::uint32_t kNowhere = 0xFFFFFFFF;

std::size_t slot_of(const Trait& trait) {
    return (static_cast<std::size_t>(trait.form) * kWidth + trait.first) * kWidth + trait.second;
}

constexpr std::uint64_t word_bit(std::uint64_t hash) {
    return (hash * 0x9E3779B97F4A7C15ULL) >> 47U;
}

float number_of(std::string_view text) { return take_number<float>(text).value_or(0); }

/// Every trait that can be, by its name.
std::vector<std::pair<std::string, std::size_t>> all_traits() {
    std::vector<std::pair<std::string, std::size_t>> all;
    for (std::size_t form = 0; form < kForms; ++form) {
        for (std::size_t first = 0; first < kClasses; ++first) {
            const auto what = static_cast<Form>(form);
            const bool pair = what == Form::kPair || what == Form::kBoth;
            const std::size_t seconds = pair                   ? kClasses
                                        : what == Form::kFlag  ? kFlags
                                        : what == Form::kKind  ? 7
                                        : what == Form::kAsked ? kAskedForms
                                                               : 1;
            for (std::size_t second = 0; second < seconds; ++second) {
                const Trait trait{what, static_cast<std::uint8_t>(first),
                                  static_cast<std::uint8_t>(second), 0};
                all.emplace_back(name_of(trait), slot_of(trait));
            }
        }
    }
    std::sort(all.begin(), all.end());
    return all;
}

}  // namespace

const Model& Model::instance() {
    static const Model model(kWeightTable);
    return model;
}

Model::Model(std::string_view text)
    : slots_(std::size_t{1} << 17U), traits_(kForms * kWidth * kWidth), word_slots_(1U << 16U) {
    const auto known = all_traits();
    std::vector<std::string_view> words;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        std::string_view line = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        const std::size_t tab = line.find('\t');
        if (line.empty() || line.front() == '#' || tab == std::string_view::npos) continue;
        const std::string_view name = line.substr(0, tab);
        line.remove_prefix(tab + 1);
        const std::size_t second = line.find('\t');
        if (second == std::string_view::npos) continue;
        const Weight weight{number_of(line.substr(0, second)), number_of(line.substr(second + 1)),
                            is_whole(name)};
        if (name == "bias") bias_ = weight;
        if (name == "slope") slope_ = weight.gpu;
        if (name.size() > 2 && name[1] == ' ') {
            add(name, weight);
            if (name[0] != 'b' && name[0] != 'p' && name[0] != 's' && name[0] != 'j') {
                words.push_back(name.substr(2));
            }
            continue;
        }
        const auto trait = std::lower_bound(
            known.begin(), known.end(), name,
            [](const auto& one, std::string_view other) { return one.first < other; });
        if (trait == known.end() || trait->first != name) continue;
        weights_.push_back(weight);
        traits_[trait->second] = static_cast<std::uint32_t>(weights_.size());
    }
    add_words(words);
}

void Model::insert(std::uint64_t key, std::uint32_t feature) {
    if (filled_ * 2 > slots_.size()) return;  // never with the table that is shipped
    std::size_t at = key >> 47U;
    while (slots_[at].feature != 0) at = (at + 1) & (slots_.size() - 1);
    slots_[at] = {key, feature + 1};
    ++filled_;
    const std::uint64_t bit = key >> 46U;
    filter_[bit >> 6U] |= std::uint64_t{1} << (bit & 63U);
}

/// One more than the number of the feature; 0: none.
std::uint32_t Model::find(std::uint64_t key) const {
    const std::uint64_t bit = key >> 46U;
    if (((filter_[bit >> 6U] >> (bit & 63U)) & 1U) == 0) return 0;
    for (std::size_t at = key >> 47U;; at = (at + 1) & (slots_.size() - 1)) {
        if (slots_[at].feature == 0 || slots_[at].key == key) return slots_[at].feature;
    }
}

void Model::add(std::string_view name, Weight weight) {
    const char tag = name[0];
    name.remove_prefix(2);
    std::uint64_t key = key_of(tag, hash_of(name));
    if (tag == 'b') {
        const std::size_t blank = name.find(' ');
        if (blank == std::string_view::npos) return;
        key = key_of_pair(hash_of(name.substr(0, blank)), hash_of(name.substr(blank + 1)));
    }
    insert(key, static_cast<std::uint32_t>(weights_.size()));
    weights_.push_back(weight);
}

void Model::add_words(const std::vector<std::string_view>& words) {
    for (const std::string_view word : words) {
        const std::uint64_t hash = hash_of(word);
        if (find_word(hash) != nullptr || words_.size() * 2 > word_slots_.size()) continue;
        Word known;
        known.begin = static_cast<std::uint32_t>(own_.size());
        if (const std::uint32_t own = find(key_of('w', hash)); own != 0) own_.push_back(own - 1);
        pieces_of(word, [&](char tag, std::string_view piece) {
            const std::uint32_t own = find(key_of(tag, hash_of(piece)));
            if (own != 0) own_.push_back(own - 1);
        });
        known.end = static_cast<std::uint32_t>(own_.size());
        known.denied = find(key_of('n', hash));
        known.first = find(key_of('h', hash));
        known.opens = find(key_of('o', hash));
        words_.push_back(known);
        const std::uint64_t bit = word_bit(hash);
        word_filter_[bit >> 6U] |= std::uint64_t{1} << (bit & 63U);
        std::size_t at = (hash * 0x9E3779B97F4A7C15ULL) >> 48U;
        while (word_slots_[at].feature != 0) at = (at + 1) & (word_slots_.size() - 1);
        word_slots_[at] = {hash, static_cast<std::uint32_t>(words_.size())};
    }
}

const Model::Word* Model::find_word(std::uint64_t hash) const {
    const std::uint64_t bit = word_bit(hash);
    if (((word_filter_[bit >> 6U] >> (bit & 63U)) & 1U) == 0) return nullptr;
    for (std::size_t at = (hash * 0x9E3779B97F4A7C15ULL) >> 48U;;
         at = (at + 1) & (word_slots_.size() - 1)) {
        if (word_slots_[at].feature == 0) return nullptr;
        if (word_slots_[at].key == hash) return &words_[word_slots_[at].feature - 1];
    }
}

Model::Score Model::score(Reading& reading, std::size_t matches) const {
    if (reading.seen.size() != weights_.size()) {
        reading.seen.assign(weights_.size(), 0);
        reading.text = 0;
    }
    if (++reading.text == 0) {
        std::fill(reading.seen.begin(), reading.seen.end(), 0);
        reading.text = 1;
    }
    reading.found.clear();
    const auto note = [&](std::uint32_t feature, std::uint32_t place) {
        if (reading.seen[feature] == reading.text) return;
        reading.seen[feature] = reading.text;
        reading.found.push_back({feature, place});
    };
    const auto words = static_cast<std::uint32_t>(reading.words.size());
    for (const Trait& trait : reading.traits) {
        const std::uint32_t feature = traits_[slot_of(trait)];
        if (feature == 0) continue;
        note(feature - 1, trait.match == kNowhere ? kNowhere : words + trait.match);
    }
    for (std::uint32_t i = 0; i < words; ++i) {
        const TextWord& word = reading.words[i];
        if (const Word* known = find_word(word.hash); known != nullptr) {
            for (std::uint32_t k = known->begin; k < known->end; ++k) note(own_[k], i);
            if (word.denied && known->denied != 0) note(known->denied - 1, i);
            if (word.first && known->first != 0) note(known->first - 1, i);
            if (word.opens && known->opens != 0) note(known->opens - 1, i);
        } else {
            pieces_of(word.text, [&](char tag, std::string_view piece) {
                const std::uint32_t feature = find(key_of(tag, hash_of(piece)));
                if (feature != 0) note(feature - 1, i);
            });
        }
        if (!word.follows || i == 0) continue;
        const std::uint32_t pair = find(key_of_pair(reading.words[i - 1].hash, word.hash));
        if (pair != 0) note(pair - 1, i);
    }
    const double scale = reading.found.empty() ? 0 : 1 / std::sqrt(double(reading.found.size()));
    Score score{bias_.gpu, bias_.optional};
    reading.by_match.assign(matches, 0);
    reading.by_word.assign(words, 0);
    reading.of_text = bias_.gpu;
    for (const auto& [feature, place] : reading.found) {
        const Weight& weight = weights_[feature];
        const double part = weight.whole ? 1 : scale;
        const double gpu = weight.gpu * part;
        score.gpu += gpu;
        score.optional += weight.optional * part;
        if (place == kNowhere) {
            reading.of_text += gpu;
        } else if (place < words) {
            reading.by_word[place] += gpu;
        } else {
            reading.by_match[place - words] += gpu;
        }
    }
    return score;
}

double Model::probability(double score) const { return 1 / (1 + std::exp(-slope_ * score)); }

}  // namespace aliquot::detect
