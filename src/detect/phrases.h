// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "detect/match.h"
#include "detect/vocabulary.h"

namespace aliquot::detect {

/// A token of the text that the vocabulary knows.
struct Hit {
    std::uint32_t begin = 0;  // bytes
    std::uint32_t end = 0;
    std::uint32_t index = 0;     // number of the token in the text
    std::uint32_t sentence = 0;  // number of the sentence or, in files, of the line
    WordId word = kNoWord;
    std::uint16_t comment = 0;  // 1: on a line that is commented out; two bytes: no padding
};

/// Takes the known tokens in their order and finds the phrases of the table in them: at every place
/// the longest one, none over another. A phrase lies in one sentence and has no gap.
class PhraseFinder {
public:
    /// found   cleared, then filled
    PhraseFinder(const Vocabulary& vocabulary, std::vector<Match>& found)
        : vocabulary_(vocabulary), found_(found) {
        found_.clear();
    }

    /// False: a token that can neither begin a phrase nor go on with one; do not add it.
    [[nodiscard]] bool wants(WordId word, std::uint32_t index) const {
        return vocabulary_.start(word).state != 0 ||
               (count_ > 0 && index == chain_[count_ - 1].index + 1);
    }

    [[gnu::always_inline]] inline void add(const Hit& hit) {
        while (count_ > 0) {
            const Hit& last = chain_[count_ - 1];
            if (hit.index == last.index + 1 && hit.sentence == last.sentence) {
                if (const std::uint32_t next = vocabulary_.next(state_, hit.word); next != 0) {
                    return reach(next, vocabulary_.state(next), hit);
                }
            }
            settle();
        }
        const Vocabulary::Start& start = vocabulary_.start(hit.word);
        if (start.state == 0) return;
        if (start.reached.is_leaf) return keep(hit, hit, start.reached);
        reach(start.state, start.reached, hit);
    }

    void finish() {
        while (count_ > 0) settle();
    }

private:
    void reach(std::uint32_t state, const Vocabulary::State& reached, const Hit& hit) {
        chain_[count_++] = hit;
        state_ = state;
        if (reached.accepts != kNoPattern) {
            best_ = reached;
            length_ = count_;
        }
        if (reached.is_leaf) settle();
    }

    void keep(const Hit& first, const Hit& last, const Vocabulary::State& reached) {
        found_.push_back({.begin = first.begin,
                          .end = last.end,
                          .first = first.index,
                          .last = last.index,
                          .sentence = first.sentence,
                          .pattern = reached.accepts,
                          .comment = first.comment != 0,
                          .row = &vocabulary_.row(reached.accepts)});
    }

    /// The phrase that the chain began with ends here, or was none; reads the rest anew.
    void settle();

    const Vocabulary& vocabulary_;
    std::vector<Match>& found_;
    std::array<Hit, Vocabulary::kLongestPhrase> chain_{};  // what may become one phrase
    std::size_t count_ = 0;
    std::size_t length_ = 0;  // words of the longest phrase so far, 0: none
    std::uint32_t state_ = 0;
    Vocabulary::State best_;  // where it ended
};

}  // namespace aliquot::detect
