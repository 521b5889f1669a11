// SPDX-License-Identifier: Apache-2.0
#include "detect/vocabulary.h"

#include <algorithm>

#include "base/take_text.h"
#include "base/text.h"

namespace aliquot::detect {
namespace {

constexpr unsigned kSlotBits = 14;  // of a table several times as large as the words are many
constexpr std::size_t kSlots = std::size_t{1} << kSlotBits;

std::uint64_t head_of(std::string_view word) {
    std::uint64_t head = 0;
    for (std::size_t i = 0; i < word.size() && i < 8; ++i) {
        head |= std::uint64_t{static_cast<unsigned char>(word[i])} << (8 * i);
    }
    return head;
}

std::uint64_t key_of(std::string_view word) {
    std::uint64_t key = head_of(word);
    for (std::size_t i = 8; i < word.size(); ++i) {
        key = (key ^ static_cast<unsigned char>(word[i])) * 1099511628211ULL;
    }
    return key;
}

}  // namespace

const Vocabulary& Vocabulary::instance() {
    static const Vocabulary vocabulary;
    return vocabulary;
}

Vocabulary::Vocabulary()
    : slots_(kSlots),
      words_(1),
      starts_(1),
      edges_(kEdges),
      states_(1),
      number_(intern("#n")),
      billions_(intern("#b")),
      millions_(intern("#m")),
      gibibytes_(intern("#gb")),
      times_(intern("#x")) {
    for (const Row& row : word_rows()) note_numerals(row);
    for (const Row& row : word_rows()) add_row(row);
    for (Start& start : starts_) start.reached = states_[start.state];
}

WordId Vocabulary::find(std::uint64_t head) const {
    for (std::size_t at = (head * kSpread) >> (64U - kSlotBits);; at = (at + 1) & (kSlots - 1)) {
        const Slot& slot = slots_[at];
        if (slot.word == kNoWord) return kNoWord;
        if (slot.key == head && !slot.is_long) return slot.word;
    }
}

WordId Vocabulary::find(std::string_view word) const {
    const std::uint64_t key = key_of(word);
    if (word.size() <= 8) return find(key);
    for (std::size_t at = (key * kSpread) >> (64U - kSlotBits);; at = (at + 1) & (kSlots - 1)) {
        const Slot& slot = slots_[at];
        if (slot.word == kNoWord) return kNoWord;
        if (slot.key == key && slot.is_long && words_[slot.word] == word) return slot.word;
    }
}

WordId Vocabulary::intern(std::string_view word) {
    if (const WordId known = find(word); known != kNoWord) return known;
    const auto id = static_cast<WordId>(words_.size());
    words_.emplace_back(word);
    starts_.emplace_back();
    const std::uint64_t key = key_of(word);
    std::size_t at = (key * kSpread) >> (64U - kSlotBits);
    while (slots_[at].word != kNoWord) at = (at + 1) & (kSlots - 1);
    slots_[at] = {key, id, word.size() > 8};
    if (word.size() > 2 && word.front() == '*') {
        endings_[letter(word[word.size() - 2])] |= 1U << letter(word.back());
    }
    const std::uint64_t bit = (head_of(word) * kSpread) >> 48U;
    filters_[0][bit >> 6U] |= std::uint64_t{1} << (bit & 63U);
    const bool foreign =
        std::any_of(word.begin(), word.begin() + std::min<std::ptrdiff_t>(8, std::ssize(word)),
                    [](char c) { return static_cast<unsigned char>(c) >= 0x80; });
    if (foreign) filters_[1][bit >> 6U] |= std::uint64_t{1} << (bit & 63U);
    return id;
}

std::uint32_t Vocabulary::walk(std::uint32_t state, WordId word) {
    const std::uint32_t known = state == 0 ? starts_[word].state : next(state, word);
    if (known != 0) return known;
    const auto fresh = static_cast<std::uint32_t>(states_.size());
    states_.emplace_back();
    if (state == 0) {
        starts_[word].state = fresh;
        return fresh;
    }
    states_[state].is_leaf = false;
    const std::uint32_t hash = edge_hash(state, word);
    const std::uint32_t bit = hash >> kFilterShift;
    edge_filter_[bit >> 6U] |= std::uint64_t{1} << (bit & 63U);
    std::size_t at = hash >> kEdgeShift;
    while (edges_[at].word != kNoWord) at = (at + 1) & (kEdges - 1);
    edges_[at] = {state, fresh, word};
    return fresh;
}

/// Interns the numbers that a row spells out.
void Vocabulary::note_numerals(const Row& row) {
    constexpr std::string_view kDigits = "0123456789";
    const std::string_view text = row.phrases;
    for (std::size_t at = text.find_first_of(kDigits); at < text.size();) {
        const std::size_t end = std::min(text.find_first_not_of(kDigits, at), text.size());
        const bool begins = at == 0 || std::string_view(" ;|").find(text[at - 1]) < 3;
        const bool ends = end == text.size() || std::string_view(" ;|").find(text[end]) < 3;
        if (begins && ends) {
            const WordId word = intern(text.substr(at, end - at));
            if (std::find(numerals_.begin(), numerals_.end(), word) == numerals_.end()) {
                numerals_.push_back(word);
            }
        }
        at = text.find_first_of(kDigits, end);
    }
}

void Vocabulary::add_row(const Row& row) {
    std::string_view rest = row.phrases;
    while (!rest.empty()) {
        const std::string_view phrase = trim(take_until(rest, ';'), " ");
        if (phrase.empty()) continue;
        const auto pattern = static_cast<PatternId>(rows_.size());
        rows_.push_back(&row);
        add_phrase(phrase, pattern);
    }
}

void Vocabulary::add_phrase(std::string_view phrase, PatternId pattern) {
    std::vector<std::uint32_t> states{0};
    for (std::size_t length = 0; !phrase.empty() && length < kLongestPhrase; ++length) {
        std::string_view choices = trim(take_until(phrase, ' '), " ");
        std::vector<std::uint32_t> after;
        while (!choices.empty()) {
            const WordId word = intern(trim(take_until(choices, '|'), " "));
            for (const std::uint32_t state : states) {
                after.push_back(walk(state, word));
                if (word != number_) continue;
                for (const WordId numeral : numerals_) after.push_back(walk(state, numeral));
            }
        }
        states = std::move(after);
    }
    for (const std::uint32_t state : states) {
        if (states_[state].accepts != kNoPattern) continue;  // the first row wins
        states_[state].accepts = pattern;
    }
}

}  // namespace aliquot::detect
