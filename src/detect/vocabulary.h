// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "detect/match.h"

namespace aliquot::detect {

using WordId = std::uint16_t;

inline constexpr WordId kNoWord = 0;

/// The words and phrases of the table, ready for lookup. Immutable after construction.
class Vocabulary {
public:
    static constexpr std::size_t kLongestPhrase = 12;  // words; longer ones of the table are cut

    /// The one of the compiled-in table, built at the first call.
    static const Vocabulary& instance();

    /// Cheap and often 0 for words that are not ours; 1 for all of ours.
    ///
    /// head      the first eight bytes of the word in lower case, the first one lowest, zeros behind
    /// foreign   1: one of them is not ASCII; there are few such words
    [[nodiscard]] std::size_t may_know(std::uint64_t head, std::size_t foreign) const {
        const std::uint64_t bit = (head * kSpread) >> 48U;
        return (filters_[foreign][bit >> 6U] >> (bit & 63U)) & 1U;
    }

    /// A word of at most eight bytes, by its head.
    [[nodiscard]] WordId find(std::uint64_t head) const;
    /// word   lower-cased bytes, any number of them
    [[nodiscard]] WordId find(std::string_view word) const;

    /// Does a family of names, such as "*bert", end in the last two letters of the word? Often false.
    ///
    /// word   lower-cased, at least two bytes
    [[nodiscard]] bool may_end(std::string_view word) const {
        return ((endings_[letter(word[word.size() - 2])] >> letter(word.back())) & 1U) != 0;
    }

    /// The id of the special words "#n", "#b", "#m", "#gb", "#x".
    [[nodiscard]] WordId number() const { return number_; }
    [[nodiscard]] WordId billions() const { return billions_; }
    [[nodiscard]] WordId millions() const { return millions_; }
    [[nodiscard]] WordId gibibytes() const { return gibibytes_; }
    [[nodiscard]] WordId times() const { return times_; }

    struct State {
        PatternId accepts = kNoPattern;
        bool is_leaf = true;
    };
    struct Start {
        std::uint32_t state = 0;  // 0: no phrase begins with the word
        State reached;
    };
    /// Where a phrase that begins with the word stands after it.
    [[nodiscard]] const Start& start(WordId word) const { return starts_[word]; }
    /// Where it stands after one word more; 0: nowhere.
    [[nodiscard]] std::uint32_t next(std::uint32_t state, WordId word) const {
        const std::uint32_t hash = edge_hash(state, word);
        const std::uint32_t bit = hash >> kFilterShift;
        if (((edge_filter_[bit >> 6U] >> (bit & 63U)) & 1U) == 0) return 0;
        for (std::size_t at = hash >> kEdgeShift;; at = (at + 1) & (kEdges - 1)) {
            const Edge& edge = edges_[at];
            if (edge.word == kNoWord) return 0;
            if (edge.from == state && edge.word == word) return edge.to;
        }
    }
    [[nodiscard]] const State& state(std::uint32_t state) const { return states_[state]; }

    [[nodiscard]] const Row& row(PatternId pattern) const { return *rows_[pattern]; }

private:
    static constexpr std::uint64_t kSpread = 0x9E3779B97F4A7C15ULL;
    static constexpr unsigned kEdgeShift = 17;    // of a table several times as large as the edges
    static constexpr unsigned kFilterShift = 15;  // a bit in ten is set
    static constexpr std::size_t kEdges = std::size_t{1} << (32U - kEdgeShift);

    struct Slot {
        std::uint64_t key = 0;  // the head; of a longer word mixed with the rest
        WordId word = kNoWord;
        bool is_long = false;
    };
    struct Edge {
        std::uint32_t from = 0;
        std::uint32_t to = 0;
        WordId word = kNoWord;
    };

    Vocabulary();
    /// 0..31, the same for capitals and small letters.
    static unsigned letter(char byte) { return static_cast<unsigned char>(byte) & 31U; }
    static std::uint32_t edge_hash(std::uint32_t state, WordId word) {
        return ((state << 16U) + word) * 2654435761U;
    }
    WordId intern(std::string_view word);
    std::uint32_t walk(std::uint32_t state, WordId word);
    void note_numerals(const Row& row);
    void add_row(const Row& row);
    void add_phrase(std::string_view phrase, PatternId pattern);

    std::array<std::array<std::uint64_t, 1024>, 2> filters_{};  // of all words, of foreign ones
    std::array<std::uint32_t, 32> endings_{};  // by the last letter but one, a bit per last letter
    std::vector<Slot> slots_;
    std::vector<std::string> words_;  // by id; 0 unused
    std::vector<WordId> numerals_;    // the "4" of "gpt 4" is a "#n" as well
    std::vector<Start> starts_;
    std::array<std::uint64_t, 2048> edge_filter_{};
    std::vector<Edge> edges_;
    std::vector<State> states_;
    std::vector<const Row*> rows_;
    WordId number_;
    WordId billions_;
    WordId millions_;
    WordId gibibytes_;
    WordId times_;
};

}  // namespace aliquot::detect
