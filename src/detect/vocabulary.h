// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "detect/table.h"

namespace aliquot::detect {

using WordId = std::uint16_t;
using PatternId = std::uint16_t;

inline constexpr WordId kNoWord = 0;
inline constexpr PatternId kNoPattern = 0xFFFF;

/// The hash that the tokenizer computes while it reads a word.
inline constexpr std::uint32_t kHashStart = 2166136261U;
constexpr std::uint32_t hash_step(std::uint32_t hash, unsigned char byte) {
    return (hash ^ byte) * 16777619U;
}

/// The words and phrases of the table, ready for lookup. Immutable after construction.
class Vocabulary {
public:
    /// The one of the compiled-in table, built at the first call.
    static const Vocabulary& instance();

    /// Cheap and often false for words that are not ours; never false for ours.
    [[nodiscard]] bool may_know(std::uint32_t hash) const {
        const std::uint32_t bit = mixed(hash) & 0xFFFFU;
        return ((filter_[bit >> 6U] >> (bit & 63U)) & 1U) != 0;
    }

    /// word   lower-cased bytes; hash over the same
    [[nodiscard]] WordId find(std::string_view word, std::uint32_t hash) const;

    /// The id of the special words "#n", "#b", "#gb", "#x".
    [[nodiscard]] WordId number() const { return number_; }
    [[nodiscard]] WordId billions() const { return billions_; }
    [[nodiscard]] WordId gibibytes() const { return gibibytes_; }
    [[nodiscard]] WordId times() const { return times_; }

    /// Phrases: state 0 is the root; 0 also means "no way on".
    [[nodiscard]] std::uint32_t next(std::uint32_t state, WordId word) const {
        if (state == 0) return word < first_.size() ? first_[word] : 0;
        return follow(state, word);
    }
    [[nodiscard]] PatternId accepts(std::uint32_t state) const { return accept_[state]; }
    [[nodiscard]] bool is_leaf(std::uint32_t state) const { return leaf_[state] != 0; }

    [[nodiscard]] const Row& row(PatternId pattern) const { return *rows_[pattern]; }
    [[nodiscard]] std::uint16_t row_number(PatternId pattern) const {
        return row_numbers_[pattern];
    }
    [[nodiscard]] std::size_t row_count() const { return row_count_; }

private:
    struct Slot {
        std::uint32_t hash = 0;
        WordId word = kNoWord;
    };
    struct Edge {
        std::uint32_t from = 0;
        std::uint32_t to = 0;
        WordId word = kNoWord;
    };

    Vocabulary();
    static std::uint32_t mixed(std::uint32_t hash) { return hash ^ (hash >> 15U); }
    [[nodiscard]] std::uint32_t follow(std::uint32_t state, WordId word) const;
    WordId intern(std::string_view word);
    std::uint32_t walk(std::uint32_t state, WordId word);
    void add_row(const Row& row);
    void add_phrase(std::string_view phrase, PatternId pattern);

    std::array<std::uint64_t, 1024> filter_{};
    std::vector<Slot> slots_;
    std::vector<std::string> words_;  // by id; 0 unused
    std::vector<std::uint32_t> first_;
    std::vector<Edge> edges_;
    std::vector<PatternId> accept_;
    std::vector<std::uint8_t> leaf_;
    std::vector<const Row*> rows_;
    std::vector<std::uint16_t> row_numbers_;
    std::size_t row_count_ = 0;
    WordId number_ = kNoWord;
    WordId billions_ = kNoWord;
    WordId gibibytes_ = kNoWord;
    WordId times_ = kNoWord;
};

}  // namespace aliquot::detect
