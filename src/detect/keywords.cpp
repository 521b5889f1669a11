// SPDX-License-Identifier: Apache-2.0
//
// The plain detector. Fourteen substrings of the lower-cased text, whatever they are part of; and a
// GPU for every text, by three more substrings in a fixed order. One pass of a keyword automaton.
#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "detect/detect.h"

namespace aliquot::detect {
namespace {

constexpr std::array<std::string_view, 17> kKeywords = {"machine learning",
                                                        "deep learning",
                                                        "neural network",
                                                        "pytorch",
                                                        "tensorflow",
                                                        "computer vision",
                                                        "cv",
                                                        "object detection",
                                                        "image classification",
                                                        "nlp",
                                                        "model training",
                                                        "inference",
                                                        "gpu",
                                                        "cuda",
                                                        "large model",
                                                        "billion",
                                                        "training"};
constexpr std::size_t kDecisive = 14;  // the rest only sizes
constexpr std::size_t kLetters = 28;   // a..z, blank, everything else
constexpr std::size_t kOther = 27;

constexpr std::size_t letter_of(unsigned char byte) {
    if (byte >= 'a' && byte <= 'z') return byte - std::size_t{'a'};
    if (byte >= 'A' && byte <= 'Z') return byte - std::size_t{'A'};
    return byte == ' ' ? 26 : kOther;
}

/// Aho-Corasick as a complete table.
class Automaton {
public:
    Automaton() {
        fresh();
        for (std::size_t k = 0; k < kKeywords.size(); ++k) {
            std::size_t state = 0;
            for (const char byte : kKeywords[k]) {
                const std::size_t letter = letter_of(static_cast<unsigned char>(byte));
                if (next_[state][letter] == 0) {
                    const auto made = static_cast<std::uint16_t>(next_.size());
                    fresh();
                    next_[state][letter] = made;
                }
                state = next_[state][letter];
            }
            found_[state] |= 1U << k;
        }
        complete();
        for (std::size_t byte = 0; byte < 256; ++byte) {
            letters_[byte] = static_cast<std::uint8_t>(letter_of(static_cast<unsigned char>(byte)));
        }
    }

    /// First end of each keyword, 0 for none.
    std::array<std::size_t, kKeywords.size()> run(std::string_view text) const {
        std::array<std::size_t, kKeywords.size()> ends{};
        std::uint32_t open = (1U << kKeywords.size()) - 1;
        std::uint16_t state = 0;
        for (std::size_t i = 0; i < text.size(); ++i) {
            std::size_t letter = letters_[static_cast<unsigned char>(text[i])];
            if (letter == kOther && text.substr(i, 3) == "\xE2\x84\xAA") {
                letter = 'k' - 'a';  // the Kelvin sign: its lower case is a plain k
                i += 2;
            }
            state = next_[state][letter];
            if ((found_[state] & open) == 0) continue;
            for (std::size_t k = 0; k < kKeywords.size(); ++k) {
                if (((found_[state] & open) >> k & 1U) != 0) ends[k] = i + 1;
            }
            open &= ~found_[state];
        }
        return ends;
    }

private:
    void fresh() {
        next_.emplace_back();
        found_.push_back(0);
    }

    void complete() {
        std::vector<std::uint16_t> fallback(next_.size(), 0);
        std::vector<std::uint16_t> queue;
        for (const std::uint16_t child : next_[0]) {
            if (child != 0) queue.push_back(child);
        }
        for (std::size_t at = 0; at < queue.size(); ++at) {
            const std::uint16_t state = queue[at];
            found_[state] |= found_[fallback[state]];
            for (std::size_t letter = 0; letter < kLetters; ++letter) {
                std::uint16_t& child = next_[state][letter];
                const std::uint16_t other = next_[fallback[state]][letter];
                if (child == 0) {
                    child = other;
                } else {
                    fallback[child] = other;
                    queue.push_back(child);
                }
            }
        }
    }

    std::vector<std::array<std::uint16_t, kLetters>> next_;
    std::vector<std::uint32_t> found_;
    std::array<std::uint8_t, 256> letters_{};
};

}  // namespace

Verdict detect_keywords(std::string_view text) {
    static const Automaton automaton;
    Verdict verdict;
    verdict.confidence = 1;
    verdict.cut = text.size() > kMostBytes;
    text = text.substr(0, kMostBytes);
    const auto ends = automaton.run(text);
    for (std::size_t k = 0; k < kDecisive; ++k) {
        if (ends[k] == 0) continue;
        // A Kelvin sign makes the span in bytes longer than the word.
        std::size_t start = ends[k] - kKeywords[k].size();
        for (std::size_t i = start; i + 3 <= ends[k]; ++i) {
            if (text.substr(i, 3) == "\xE2\x84\xAA") start = start >= 2 ? start - 2 : 0;
        }
        verdict.evidence.push_back({start, ends[k], 1, Source::kContext, Scope::kPlain});
        verdict.score += 1;
    }
    verdict.label = verdict.evidence.empty() ? Label::kCpu : Label::kGpu;
    const bool large = ends[14] != 0 || ends[15] != 0;
    const bool training = ends[16] != 0;
    verdict.need.count = large ? 4 : 1;
    verdict.need.type = large || training ? "a100" : "v100";
    verdict.need.memory_gib = large ? 64 : training ? 32 : 16;
    verdict.need.memory_reason = "host memory";
    return verdict;
}

}  // namespace aliquot::detect
