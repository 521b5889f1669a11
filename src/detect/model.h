// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "detect/features.h"

namespace aliquot::detect {

/// The fitted weights: a linear model over the distinct known features of a text, divided by the square
/// root of their number, but for those that count in full. Immutable after construction.
class Model {
public:
    /// The weights of data/detect_weights.tsv, compiled in; made at the first call.
    static const Model& instance();

    /// text   lines of data/detect_weights.tsv; a line that is none is passed over
    explicit Model(std::string_view text);

    /// Two answers, in log-odds: does it ask for a GPU; does it leave the choice?
    struct Score {
        double gpu = 0;
        double optional = 0;
    };

    /// What a text is made of, and what each part of it said. Reused from text to text.
    struct Reading {
        std::vector<Trait> traits;
        std::vector<TextWord> words;
        std::vector<double> by_match;     // log-odds for a GPU, by the place of the match
        std::vector<double> by_word;      // the same, by the place of the word
        double of_text = 0;               // what rests on no part of it: the bias, pairs far apart
        std::vector<std::uint32_t> seen;  // by feature: the text it was last seen in
        std::uint32_t text = 0;
        std::vector<std::array<std::uint32_t, 2>> found;  // feature, place (words first)
    };

    /// Scores traits and words of `reading`; fills its `by_match`, `by_word` and `of_text`.
    Score score(Reading& reading, std::size_t matches) const;

    /// The probability that a score stands for.
    [[nodiscard]] double probability(double score) const;

private:
    struct Weight {
        float gpu = 0;
        float optional = 0;
        bool whole = false;  // not divided by the root
    };
    struct Slot {
        std::uint64_t key = 0;
        std::uint32_t feature = 0;  // one more than its number; 0: free
    };
    /// All features that follow from a word alone.
    struct Word {
        std::uint32_t begin = 0;  // in `own_`
        std::uint32_t end = 0;
        std::uint32_t denied = 0;  // one more than its number; 0: none
        std::uint32_t first = 0;
        std::uint32_t opens = 0;
    };

    static std::uint64_t key_of(char tag, std::uint64_t hash) {
        return (hash ^ static_cast<unsigned char>(tag)) * 0xD6E8FEB86659FD93ULL | 1U;
    }
    static std::uint64_t key_of_pair(std::uint64_t first, std::uint64_t second) {
        return ((first * 31U) ^ second) * 0xD6E8FEB86659FD93ULL | 1U;
    }
    [[nodiscard]] std::uint32_t find(std::uint64_t key) const;
    [[nodiscard]] const Word* find_word(std::uint64_t hash) const;
    void insert(std::uint64_t key, std::uint32_t feature);
    void add(std::string_view name, Weight weight);
    void add_words(const std::vector<std::string_view>& words);

    std::vector<Weight> weights_;
    std::vector<Slot> slots_;
    std::size_t filled_ = 0;
    std::array<std::uint64_t, 4096> filter_{};  // a bit for each key
    std::vector<std::uint32_t> traits_;         // by form, first, second: one more than its feature
    std::array<std::uint64_t, 2048> word_filter_{};  // a bit for each word
    std::vector<Slot> word_slots_;
    std::vector<Word> words_;
    std::vector<std::uint32_t> own_;
    Weight bias_;
    double slope_ = 1;
};

}  // namespace aliquot::detect
