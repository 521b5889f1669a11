// SPDX-License-Identifier: Apache-2.0
#include "detect/vocabulary.h"

namespace aliquot::detect {
namespace {

constexpr std::size_t kSlots = 8192;   // a power of two, several times the words
constexpr std::size_t kEdges = 16384;  // likewise for the phrases

std::uint32_t hash_of(std::string_view word) {
    std::uint32_t hash = kHashStart;
    for (const char byte : word) hash = hash_step(hash, static_cast<unsigned char>(byte));
    return hash;
}

std::size_t edge_slot(std::uint32_t state, WordId word) {
    const std::uint32_t key = (state * 2654435761U) ^ (word * 40503U);
    return (key ^ (key >> 13U)) & (kEdges - 1);
}

/// Cuts the first part off `rest`, without blanks around it.
std::string_view take(std::string_view& rest, char separator) {
    const std::size_t at = rest.find(separator);
    std::string_view part = rest.substr(0, at);
    rest = at == std::string_view::npos ? std::string_view{} : rest.substr(at + 1);
    while (!part.empty() && part.front() == ' ') part.remove_prefix(1);
    while (!part.empty() && part.back() == ' ') part.remove_suffix(1);
    return part;
}

}  // namespace

const Vocabulary& Vocabulary::instance() {
    static const Vocabulary vocabulary;
    return vocabulary;
}

Vocabulary::Vocabulary() : slots_(kSlots), words_(1), edges_(kEdges), accept_(1), leaf_(1) {
    accept_[0] = kNoPattern;
    number_ = intern("#n");
    billions_ = intern("#b");
    gibibytes_ = intern("#gb");
    times_ = intern("#x");
    for (const auto rows : {evidence_rows(), stack_rows(), context_rows()}) {
        for (const Row& row : rows) add_row(row);
    }
}

WordId Vocabulary::find(std::string_view word, std::uint32_t hash) const {
    for (std::size_t at = mixed(hash) & (kSlots - 1);; at = (at + 1) & (kSlots - 1)) {
        const Slot& slot = slots_[at];
        if (slot.word == kNoWord) return kNoWord;
        if (slot.hash == hash && words_[slot.word] == word) return slot.word;
    }
}

WordId Vocabulary::intern(std::string_view word) {
    const std::uint32_t hash = hash_of(word);
    if (const WordId known = find(word, hash); known != kNoWord) return known;
    const auto id = static_cast<WordId>(words_.size());
    words_.emplace_back(word);
    std::size_t at = mixed(hash) & (kSlots - 1);
    while (slots_[at].word != kNoWord) at = (at + 1) & (kSlots - 1);
    slots_[at] = {hash, id};
    const std::uint32_t bit = mixed(hash) & 0xFFFFU;
    filter_[bit >> 6U] |= std::uint64_t{1} << (bit & 63U);
    return id;
}

std::uint32_t Vocabulary::follow(std::uint32_t state, WordId word) const {
    for (std::size_t at = edge_slot(state, word);; at = (at + 1) & (kEdges - 1)) {
        const Edge& edge = edges_[at];
        if (edge.word == kNoWord) return 0;
        if (edge.from == state && edge.word == word) return edge.to;
    }
}

std::uint32_t Vocabulary::walk(std::uint32_t state, WordId word) {
    if (const std::uint32_t known = next(state, word); known != 0) return known;
    const auto fresh = static_cast<std::uint32_t>(accept_.size());
    accept_.push_back(kNoPattern);
    leaf_.push_back(1);
    leaf_[state] = 0;
    if (state == 0) {
        if (first_.size() <= word) first_.resize(word + std::size_t{1});
        first_[word] = fresh;
        return fresh;
    }
    std::size_t at = edge_slot(state, word);
    while (edges_[at].word != kNoWord) at = (at + 1) & (kEdges - 1);
    edges_[at] = {state, fresh, word};
    return fresh;
}

void Vocabulary::add_row(const Row& row) {
    std::string_view rest = row.patterns;
    while (!rest.empty()) {
        const std::string_view phrase = take(rest, ';');
        if (phrase.empty()) continue;
        const auto pattern = static_cast<PatternId>(rows_.size());
        rows_.push_back(&row);
        row_numbers_.push_back(static_cast<std::uint16_t>(row_count_));
        add_phrase(phrase, pattern);
    }
    ++row_count_;
}

void Vocabulary::add_phrase(std::string_view phrase, PatternId pattern) {
    std::vector<std::uint32_t> states{0};
    while (!phrase.empty()) {
        std::string_view choices = take(phrase, ' ');
        std::vector<std::uint32_t> after;
        while (!choices.empty()) {
            const WordId word = intern(take(choices, '|'));
            for (const std::uint32_t state : states) after.push_back(walk(state, word));
        }
        states = std::move(after);
    }
    for (const std::uint32_t state : states) {
        if (accept_[state] == kNoPattern) accept_[state] = pattern;  // the first row wins
    }
}

}  // namespace aliquot::detect
