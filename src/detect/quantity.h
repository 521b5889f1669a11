// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace aliquot::detect {

/// A word of the text around a piece of evidence; a point inside is part of it: "2g.10gb".
struct Word {
    std::string text;  // lower case
    std::size_t begin = 0;
    std::size_t end = 0;
};

/// A few words, and the letters that they begin with.
template <std::size_t N>
struct WordList {
    std::array<std::string_view, N> words;
    std::uint32_t letters = 0;  // a bit each; digits and letters may share one
};

template <std::size_t N>
constexpr WordList<N> word_list(const std::string_view (&words)[N]) {
    WordList<N> list;
    for (std::size_t i = 0; i < N; ++i) {
        list.words[i] = words[i];
        list.letters |= 1U << (static_cast<unsigned char>(words[i].front()) & 31U);
    }
    return list;
}

/// Is the word one of those? Most are turned down by their first letter.
template <std::size_t N>
bool among(std::string_view word, const WordList<N>& list) {
    if (word.empty()) return false;
    if (((list.letters >> (static_cast<unsigned char>(word.front()) & 31U)) & 1U) == 0)
        return false;
    for (const std::string_view one : list.words) {
        if (one.size() == word.size() && one.front() == word.front() && one == word) return true;
    }
    return false;
}

/// The words of `text` that begin in [from, to); one that `from` cuts is left out.
std::vector<Word> words_of(std::string_view text, std::size_t from, std::size_t to);

/// The card that is named at word `at`, as we print it ("a100", "rtx-3090"), or "".
std::string type_at(const std::vector<Word>& words, std::size_t at);

/// Could the word be the name of a card that we do not know: R100, B580?
bool is_card_name(std::string_view word);

/// GPU, card, NVIDIA and the like; no name of a model.
bool is_gpu_word(std::string_view word);

/// A count of the form 4, 4x, x4 or four; 0 for none.
unsigned count_of(std::string_view word);

/// The GiB that word `at`, with its unit behind it, stands for; 0 for none. A GB on a card is a GiB.
double gibibytes_at(const std::vector<Word>& words, std::size_t at);

/// The GiB in the name of a MIG profile, 5 for "1g.5gb"; 0 for another word.
double profile_gibibytes(std::string_view word);

/// Is the memory at word `at` the host's, a disk's or the size of the data?
bool is_host_memory(const std::vector<Word>& words, std::size_t at);

/// The billions of parameters that word `at` stands for: 7b, 8x7b, "7 billion"; 0 for none.
double billions_at(const std::vector<Word>& words, std::size_t at);

}  // namespace aliquot::detect
