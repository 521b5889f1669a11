// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "detect/detect.h"
#include "detect/match.h"

/// What the model sees of a text: traits of its known phrases, and its words. Each has a name, under
/// which data/detect_weights.tsv has its weight; each counts once in a text.
namespace aliquot::detect {

/// What was done to a phrase by what is around it.
enum class Flag : std::uint8_t {
    kNone,
    kNot,
    kRemoved,
    kDenied,
    kAbout,
    kCarried,
    kUnreal,
    kQuoted,    // in a manifest or a command that only speaks of GPUs
    kComment,   // on a line that is commented out
    kOff,       // its value is 0, false, empty
    kNumber,    // its value is a number
    kKey,       // a resource that is only named
    kCpuBuild,  // "-cpu" ends the name
};
inline constexpr std::size_t kFlags = static_cast<std::size_t>(Flag::kCpuBuild) + 1;

enum class Form : std::uint8_t {
    kClass,  // a phrase of the class is there
    kPlain,  // one without any flag
    kFlag,   // one with the flag
    kPair,   // one at most kPairReach tokens before one of another class, in one sentence
    kBoth,   // two classes in the text
    kFirst,  // the first phrase
    kLast,   // the last one
    kKind,   // a class in a text of the kind
    kAsked   // what decides by itself: an ask with its number, the image that runs, device=cpu
};
inline constexpr std::size_t kForms = static_cast<std::size_t>(Form::kAsked) + 1;

/// How a match decides: the words behind "asked" in the name of its trait.
enum class Asked : std::uint8_t {
    kNumber,  // in a file, with its number
    kNamed,   // by a manifest
    kTold,    // in prose, with its number
    kOff,     // switched off, or the CPU chosen
    kRuns     // the image that a file runs
};
inline constexpr std::size_t kAskedForms = static_cast<std::size_t>(Asked::kRuns) + 1;

/// Counts in full, however long the text is: a script that asks for two GPUs in one of its hundred lines
/// asks for two GPUs.
constexpr bool is_whole(Form form) { return form == Form::kAsked; }
/// The same by the name of a trait.
constexpr bool is_whole(std::string_view name) { return name.starts_with("asked "); }

struct Trait {
    Form form = Form::kClass;
    std::uint8_t first = 0;   // a Class
    std::uint8_t second = 0;  // a Class, Flag or Kind, by the form
    std::uint32_t match = 0;  // the one it rests on
};

/// A word of the text as the model takes it: letters in lower case, or "#3" for a number of three digits.
struct TextWord {
    std::string_view text;    // in the buffer of read_words()
    std::uint64_t hash = 0;   // of `text`
    std::uint32_t begin = 0;  // bytes of the text
    std::uint32_t end = 0;
    bool denied = false;   // a negation stands before it
    bool first = false;    // one of the first two words of the text
    bool opens = false;    // the first of a sentence that is not the first
    bool follows = false;  // the word before it is of the same sentence
};

/// Words are read in the head of a text only; known phrases, and with them explicit asks, in all of it.
inline constexpr std::size_t kMostWordBytes = std::size_t{32} << 10U;

/// traits   cleared, then filled; one trait may come more than once
void read_traits(std::string_view text, Kind kind, std::span<const Match> matches,
                 std::vector<Trait>& traits, std::vector<Flag>& flags);

/// buffer   what the words point into
/// words    cleared, then filled, in order
void read_words(std::string_view text, std::span<const Match> matches, std::string& buffer,
                std::vector<TextWord>& words);

/// Up to eight bytes, the first one lowest.
inline std::uint64_t bytes_of(std::string_view text) {
    const auto load = [&](std::size_t at, auto bytes) {
        std::memcpy(&bytes, text.data() + at, sizeof bytes);
        return std::uint64_t{bytes};
    };
    const std::size_t size = text.size();
    if (size >= 8) return load(0, std::uint64_t{});
    if (size >= 4)
        return load(0, std::uint32_t{}) | load(size - 4, std::uint32_t{}) << (8 * (size - 4));
    if (size >= 2)
        return load(0, std::uint16_t{}) | load(size - 1, std::uint8_t{}) << (8 * (size - 1));
    return size == 1 ? load(0, std::uint8_t{}) : 0;
}

inline std::uint64_t hash_of(std::string_view text) {
    std::uint64_t hash = 0xCBF29CE484222325ULL ^ text.size();
    do {
        hash = (hash ^ bytes_of(text)) * 0x9E3779B97F4A7C15ULL;
        hash ^= hash >> 29U;
        text.remove_prefix(std::min<std::size_t>(text.size(), 8));
    } while (!text.empty());
    return hash;
}

/// The parts by which an unknown word resembles known ones: emit(tag, part).
template <class Emit>
void pieces_of(std::string_view word, Emit emit) {
    const bool high = static_cast<unsigned char>(word.back()) >= 0x80;
    if (high && static_cast<unsigned char>(word.front()) >= 0xE3) {  // Chinese, Japanese, Korean
        std::size_t before = 0;
        for (std::size_t at = 0, next = 0; at < word.size(); before = at, at = next) {
            next = at + 1;
            while (next < word.size() && (static_cast<unsigned char>(word[next]) & 0xC0U) == 0x80) {
                ++next;
            }
            emit('j', word.substr(before, next - before));
        }
        return;
    }
    if (word.size() > 4) {
        emit('p', word.substr(0, 4));
        emit('s', word.substr(word.size() - 3));
    }
    if (word.size() > 5) {
        emit('p', word.substr(0, 5));
        emit('s', word.substr(word.size() - 4));
    }
}

/// "class hardware", "flag card not", "pair not hardware"
std::string name_of(const Trait& trait);

/// The features of one word, as names: "word tune", "pair of fine tune", "denied gpu".
void name_words(const TextWord& word, const TextWord* before, std::vector<std::string>& names);

}  // namespace aliquot::detect
