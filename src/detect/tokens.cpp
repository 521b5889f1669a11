// SPDX-License-Identifier: Apache-2.0
//
// Two steps over every piece of 1 KiB. The first classifies 64 bytes at a time and notes where runs
// of word bytes begin and end, without a branch that depends on a byte. The second goes over the
// runs; most of them it turns down by their first eight bytes.
#include "detect/tokens.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "detect/byte_masks.h"

namespace aliquot::detect {
namespace {

constexpr std::size_t kLongestWord = 40;    // longer ones are data, not words
constexpr std::size_t kShortestFamily = 5;  // of a word that is known by its ending
constexpr std::size_t kBlocks = 16;
constexpr std::size_t kPiece = kBlocks * kBlock;
constexpr std::uint64_t kHighBits = 0x8080808080808080ULL;
constexpr std::uint64_t kLetterBits = 0x4040404040404040ULL;  // set in letters, not in digits
constexpr std::uint64_t kLowerBits = 0x2020202020202020ULL;

constexpr bool is_digit(unsigned char byte) { return byte >= '0' && byte <= '9'; }

constexpr unsigned char lower(unsigned char byte) {
    return byte >= 'A' && byte <= 'Z' ? static_cast<unsigned char>(byte + 32) : byte;
}

constexpr bool is_ascii_word(unsigned char byte) {
    return is_digit(byte) || (lower(byte) >= 'a' && lower(byte) <= 'z');
}

/// Reads one text. A class because a dozen values go from token to token.
class Scanner {
public:
    Scanner(std::string_view text, const Vocabulary& vocabulary, bool prose, PhraseFinder& phrases)
        : text_(text), vocabulary_(vocabulary), prose_(prose), phrases_(phrases) {}

    /// Returns how many bytes were read.
    std::size_t run() {
        while (piece_ < text_.size()) {
            if (words_ >= kMostWords) return piece_;
            find_runs();
            read_runs();
            piece_ += kPiece;
        }
        if (edge_count_ == 1) {  // a run up to the end of the text
            edges_[edge_count_++] = static_cast<std::uint32_t>(text_.size());
            piece_ -= kPiece;
            read_runs();
        }
        return text_.size();
    }

private:
    [[nodiscard]] unsigned char byte_at(std::size_t at) const {
        return static_cast<unsigned char>(text_[at]);
    }

    /// Fills `edges_` with the borders of the runs in the piece: begin, end, begin, end. A run that
    /// goes on in the next piece leaves its begin there.
    void find_runs() {
        sentence_ = sentence_of_[kBlocks];
        line_ = line_of_[kBlocks];
        const std::size_t size = text_.size();
        for (std::size_t block = 0; block < kBlocks; ++block) {
            const std::size_t at = piece_ + block * kBlock;
            if (at >= size) {
                if (in_word_ != 0) edges_[edge_count_++] = static_cast<std::uint32_t>(size);
                in_word_ = 0;
                break;
            }
            ByteMasks masks;
            if (at + kBlock < size) {
                masks = masks_of(text_.data() + at, prose_);
            } else {
                std::array<char, kBlock + 16> tail{};  // zeros separate
                std::memcpy(tail.data(), text_.data() + at, size - at);
                masks = masks_of(tail.data(), prose_);
            }
            if (masks.punctuation != 0 || skip_until_ > at) cut_punctuation(masks, at);
            if ((masks.wide | wide_) != 0) cut_wide(masks);
            note_ends(masks, block, at);
            note_edges(masks.word, at);
        }
        sentence_of_[kBlocks] = sentence_;
        line_of_[kBlocks] = line_;
    }

    /// Takes typographic punctuation, two or three bytes each, out of the words.
    void cut_punctuation(ByteMasks& masks, std::size_t at) {
        std::uint64_t cut = 0;
        if (skip_until_ > at) cut = (std::uint64_t{1} << (skip_until_ - at)) - 1;
        for (std::uint64_t left = masks.punctuation; left != 0; left &= left - 1) {
            const auto bit = static_cast<unsigned>(std::countr_zero(left));
            if (at + bit < skip_until_) continue;  // inside the one before
            const std::uint64_t bytes = byte_at(at + bit) == 0xC2 ? 2 : 3;
            if (at + bit + bytes > text_.size()) continue;  // cut off
            skip_until_ = at + bit + bytes;
            cut |= ((std::uint64_t{1} << bytes) - 1) << bit;
        }
        masks.word &= ~cut;
        masks.sentence &= ~cut;
        masks.line &= ~cut;
    }

    /// "GPUが": letters of three bytes are no part of the words beside them, and no phrase has them.
    void cut_wide(ByteMasks& masks) {
        masks.word &= ~(masks.wide | (masks.wide << 1U) | (masks.wide << 2U) | wide_);
        wide_ = (masks.wide >> 63U) * 3U | ((masks.wide >> 62U) & 1U);
    }

    void note_ends(const ByteMasks& masks, std::size_t block, std::size_t at) {
        sentence_of_[block] = sentence_;
        line_of_[block] = line_;
        ends_[block] = masks.sentence;
        lines_[block] = masks.line;
        if (masks.sentence != 0) sentence_ += count_of(masks.sentence);
        if (masks.line != 0)
            line_ = at + kBlock - static_cast<unsigned>(std::countl_zero(masks.line));
    }

    /// std::popcount without the call that it is on a plain x86-64.
    static std::uint32_t count_of(std::uint64_t bits) {
        bits -= (bits >> 1U) & 0x5555555555555555ULL;
        bits = (bits & 0x3333333333333333ULL) + ((bits >> 2U) & 0x3333333333333333ULL);
        bits = (bits + (bits >> 4U)) & 0x0F0F0F0F0F0F0F0FULL;
        return static_cast<std::uint32_t>((bits * 0x0101010101010101ULL) >> 56U);
    }

    void note_edges(std::uint64_t word, std::size_t at) {
        std::uint64_t edges = word ^ ((word << 1U) | in_word_);
        in_word_ = word >> 63U;
        std::uint32_t* to = edges_.data() + edge_count_;
        for (; edges != 0; edges &= edges - 1) {
            *to++ = static_cast<std::uint32_t>(at) +
                    static_cast<std::uint32_t>(std::countr_zero(edges));
        }
        edge_count_ = static_cast<std::size_t>(to - edges_.data());
    }

    void read_runs() {
        std::size_t i = 0;
        for (; i + 1 < edge_count_; i += 2) {
            const std::size_t end = edges_[i + 1];
            std::size_t begin = edges_[i];
            if (begin < done_) {  // a number took the point and what is behind it
                if (end <= done_) continue;
                begin = done_;
            }
            read_run(begin, end);
        }
        if (i < edge_count_) edges_[0] = edges_[i];
        edge_count_ -= i;
    }

    /// The first eight bytes, zeros behind the end.
    [[nodiscard]] std::uint64_t head_of(std::size_t begin, std::uint64_t mask) const {
        std::uint64_t head = 0;
        if (begin + sizeof head <= text_.size()) {
            std::memcpy(&head, text_.data() + begin, sizeof head);
        } else {
            std::memcpy(&head, text_.data() + begin, text_.size() - begin);
        }
        return head & mask;
    }

    /// In lower case: letters; digits stay, and so do letters of other alphabets.
    [[nodiscard]] static std::uint64_t small_of(std::uint64_t head, std::uint64_t mask) {
        return head | (kLowerBits & mask & ~((head & kHighBits) >> 2U));
    }

    [[nodiscard]] static std::uint64_t mask_of(std::size_t length) {
        return length < 8 ? (std::uint64_t{1} << (8 * length)) - 1 : ~std::uint64_t{0};
    }

    /// The first eight bytes in lower case.
    [[nodiscard]] std::uint64_t small_at(std::size_t begin, std::size_t length) const {
        const std::uint64_t mask = mask_of(length);
        return small_of(head_of(begin, mask), mask);
    }

    void read_run(std::size_t begin, std::size_t end) {
        const std::size_t length = end - begin;
        const std::uint64_t mask = mask_of(length);
        const std::uint64_t head = head_of(begin, mask);
        const std::uint64_t folded = head | (kLowerBits & mask);  // letters; digits stay
        if (is_digit(static_cast<unsigned char>(head))) return number(begin, end, folded);
        if ((head & kHighBits) != 0) {
            if (knows_foreign(small_of(head, mask))) name(begin, end);
        } else if (const std::uint64_t digits = ~folded & kLetterBits & mask; digits != 0) {
            name_with_digit(begin, end, folded, digits);
        } else if (knows(folded)) {
            word(begin, end, folded);
        } else if (length >= kShortestFamily && (~head & kLowerBits & mask & ~0xFFULL) != 0) {
            name_of_family(begin, end);  // a capital inside
        }
        ++index_;
    }

    [[nodiscard]] bool knows(std::uint64_t small) const {
        return vocabulary_.may_know(small, 0) != 0;
    }
    [[nodiscard]] bool knows_foreign(std::uint64_t small) const {
        return vocabulary_.may_know(small, 1) != 0;
    }

    void word(std::size_t begin, std::size_t end, std::uint64_t head) {
        if (end - begin > 8) return name(begin, end);
        if (const WordId id = vocabulary_.find(head); id != kNoWord) keep(begin, end, id);
    }

    /// "a100", "yolov8": as it is, or with what follows its first digit left open.
    ///
    /// digits   a bit in each byte of `head` that is a digit
    void name_with_digit(std::size_t begin, std::size_t end, std::uint64_t head,
                         std::uint64_t digits) {
        if (end - begin > 8) return name(begin, end);
        WordId id = knows(head) ? vocabulary_.find(head) : kNoWord;
        if (id == kNoWord) {
            const auto bits = static_cast<unsigned>(std::countr_zero(digits)) / 8 * 8;
            const std::uint64_t stem =
                (head & ((std::uint64_t{1} << bits) - 1)) | (std::uint64_t{'#'} << bits);
            if (knows(stem)) id = vocabulary_.find(stem);
        }
        if (id != kNoWord) keep(begin, end, id);
    }

    /// A word of any length: as it is, or with what follows its first digit left open.
    void name(std::size_t begin, std::size_t end) {
        const std::size_t length = end - begin;
        if (length >= kLongestWord) return;
        std::array<char, kLongestWord> word;  // NOLINT(*member-init): filled as far as it is read
        std::size_t stem = 0;                 // letters before the first digit
        bool foreign = false;
        for (std::size_t i = 0; i < length; ++i) {
            const unsigned char folded = lower(byte_at(begin + i));
            foreign = foreign || folded >= 128;
            if (stem == 0 && is_digit(folded)) stem = i;
            word[i] = static_cast<char>(folded);
        }
        WordId id = vocabulary_.find({word.data(), length});
        if (foreign) {  // names of products are ASCII
            if (id != kNoWord) keep(begin, end, id);
            return;
        }
        if (id == kNoWord && stem != 0) {
            word[stem] = '#';
            id = vocabulary_.find({word.data(), stem + 1});
        }
        if (id == kNoWord && stem == 0 && is_mixed(begin, end)) id = family({word.data(), length});
        if (id != kNoWord) keep(begin, end, id);
    }

    /// A word that is none of the table's: of a family, perhaps.
    void name_of_family(std::size_t begin, std::size_t end) {
        if (!vocabulary_.may_end(text_.substr(begin, end - begin))) return;
        name(begin, end);
    }

    /// A capital behind the first letter, and a small one: SciBERT, not Robert or ROBERT.
    [[nodiscard]] bool is_mixed(std::size_t begin, std::size_t end) const {
        const auto is_capital = [](char byte) { return byte >= 'A' && byte <= 'Z'; };
        const std::string_view word = text_.substr(begin, end - begin);
        return std::any_of(word.begin() + 1, word.end(), is_capital) &&
               !std::all_of(word.begin(), word.end(), is_capital);
    }

    /// "*bert" for "scibert".
    [[nodiscard]] WordId family(std::string_view word) const {
        if (word.size() < kShortestFamily) return kNoWord;
        std::array<char, 16> ending{'*'};
        if (!vocabulary_.may_end(word)) return kNoWord;
        for (std::size_t length = std::min<std::size_t>(word.size() - 2, 9); length >= 2;
             --length) {
            std::copy(word.end() - static_cast<std::ptrdiff_t>(length), word.end(),
                      ending.begin() + 1);
            if (const WordId id = vocabulary_.find({ending.data(), length + 1}); id != kNoWord) {
                return id;
            }
        }
        return kNoWord;
    }

    /// 7b, 8x7b, 24gb, 4x, 4xa100, 3090ti, 0.5, 12.4.1
    ///
    /// head   the first eight bytes of the run, in lower case
    void number(std::size_t begin, std::size_t end, std::uint64_t head) {
        if (end - begin <= 8 && (head & (kLetterBits | kHighBits)) == 0 && !is_point(end)) {
            const WordId known = knows(head) ? vocabulary_.find(head) : kNoWord;
            keep(begin, end, known != kNoWord ? known : vocabulary_.number());
            ++index_;
            return;
        }
        if (end - begin <= 8 && (head & kHighBits) == 0 && !is_point(end)) {
            return number_with_unit(begin, end, head);
        }
        const std::size_t size = text_.size();
        std::size_t at = begin;
        while (at < size && (is_digit(byte_at(at)) || is_point(at))) ++at;
        const std::size_t digits = at;
        while (at < size && is_ascii_word(byte_at(at))) ++at;
        const std::size_t length = at - begin;
        if (length < kLongestWord) {
            std::array<char, kLongestWord> word;  // NOLINT(*member-init): as above
            for (std::size_t i = 0; i < length; ++i) {
                word[i] = static_cast<char>(lower(byte_at(begin + i)));
            }
            const std::string_view whole(word.data(), length);
            const WordId known = knows(small_at(begin, length)) ? vocabulary_.find(whole) : kNoWord;
            const WordId id = known != kNoWord ? known : number_class(whole, digits - begin);
            if (id != kNoWord) keep(begin, at, id);
        }
        ++index_;
        done_ = at;
        if (at >= end) return;
        // "12é": the rest is a word of its own, of another alphabet.
        if (knows_foreign(small_at(at, end - at))) name(at, end);
        ++index_;
    }

    /// 7b, 24gb, 4x: at most eight bytes, all of them letters and digits.
    void number_with_unit(std::size_t begin, std::size_t end, std::uint64_t head) {
        WordId id = knows(head) ? vocabulary_.find(head) : kNoWord;
        if (id == kNoWord) {
            const auto digits = static_cast<unsigned>(std::countr_zero(head & kLetterBits)) / 8;
            id = unit_class(head >> (8 * digits), digits, end - begin, head);
        }
        if (id != kNoWord) keep(begin, end, id);
        ++index_;
    }

    /// number_class() of a short word: `unit` is what stands behind the digits, its first byte lowest.
    [[nodiscard]] WordId unit_class(std::uint64_t unit, std::size_t digits, std::size_t length,
                                    std::uint64_t head) const {
        constexpr auto kUnit = [](std::string_view name) {
            std::uint64_t bytes = 0;
            for (std::size_t i = 0; i < name.size(); ++i) {
                bytes |= std::uint64_t{static_cast<unsigned char>(name[i])} << (8 * i);
            }
            return bytes;
        };
        if (unit == kUnit("b") || unit == kUnit("bn")) return vocabulary_.billions();
        if (unit == kUnit("m")) return vocabulary_.millions();
        if (unit == kUnit("gb") || unit == kUnit("gib") || unit == kUnit("g") ||
            unit == kUnit("gi")) {
            return vocabulary_.gibibytes();
        }
        if ((unit & 0xFFU) != 'x') return kNoWord;
        std::array<char, 8> word;  // NOLINT(*member-init): filled by memcpy
        std::memcpy(word.data(), &head, sizeof head);
        return number_class({word.data(), length}, digits);
    }

    /// A point before a digit.
    [[nodiscard]] bool is_point(std::size_t at) const {
        return at + 1 < text_.size() && text_[at] == '.' && is_digit(byte_at(at + 1));
    }

    [[nodiscard]] WordId number_class(std::string_view word, std::size_t digits) const {
        std::string_view unit = word.substr(digits);
        if (unit.empty()) return vocabulary_.number();
        if (unit == "b" || unit == "bn") return vocabulary_.billions();
        if (unit == "m") return vocabulary_.millions();
        if (unit == "gb" || unit == "gib" || unit == "g" || unit == "gi") {
            return vocabulary_.gibibytes();
        }
        if (unit.front() != 'x') return kNoWord;
        unit.remove_prefix(1);
        if (unit.empty()) return vocabulary_.times();
        if (is_digit(static_cast<unsigned char>(unit.front()))) {
            return unit.back() == 'b' ? vocabulary_.billions() : kNoWord;
        }
        return vocabulary_.find(unit);
    }

    void keep(std::size_t begin, std::size_t end, WordId word) {
        if (!phrases_.wants(word, index_)) return;
        ++words_;
        if (begin >= located_until_) locate(begin);
        phrases_.add({static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end), index_,
                      here_sentence_, word, here_comment_});
    }

    /// Finds the sentence and the line of the token at `begin`, and how far they reach.
    void locate(std::size_t begin) {
        begin = std::max(begin, piece_);  // from the piece before: nothing ended since
        std::size_t block = (begin - piece_) / kBlock;
        const std::uint64_t before = (std::uint64_t{1} << (begin % kBlock)) - 1;
        here_sentence_ = sentence_of_[block] + count_of(ends_[block] & before);
        if (!prose_) {
            std::size_t line = line_of_[block];
            if (const std::uint64_t breaks = lines_[block] & before; breaks != 0) {
                line = begin / kBlock * kBlock + kBlock -
                       static_cast<unsigned>(std::countl_zero(breaks));
            }
            if (line != seen_line_) {
                seen_line_ = line;
                here_comment_ = starts_comment(line) ? 1 : 0;
            }
        }
        std::uint64_t ends = ends_[block] & ~before;
        while (ends == 0 && block + 1 < kBlocks) ends = ends_[++block];
        located_until_ = piece_ + block * kBlock + static_cast<unsigned>(std::countr_zero(ends));
    }

    [[nodiscard]] bool starts_comment(std::size_t at) const {
        const std::size_t size = text_.size();
        while (at < size && (text_[at] == ' ' || text_[at] == '\t')) ++at;
        if (at + 1 >= size) return false;
        if (text_[at] == '#') return text_[at + 1] != '!' && text_.substr(at, 7) != "#SBATCH";
        return text_[at] == '/' && text_[at + 1] == '/';
    }

    std::string_view text_;
    const Vocabulary& vocabulary_;
    bool prose_;
    PhraseFinder& phrases_;

    // Of the piece at hand; numbers of sentences and begins of lines are those before the block.
    std::size_t piece_ = 0;
    std::array<std::uint32_t, kPiece + 2> edges_;
    std::size_t edge_count_ = 0;
    std::array<std::uint32_t, kBlocks + 1> sentence_of_{};
    std::array<std::size_t, kBlocks + 1> line_of_{};
    std::array<std::uint64_t, kBlocks> ends_{};
    std::array<std::uint64_t, kBlocks> lines_{};

    // From piece to piece.
    std::uint64_t in_word_ = 0;   // 1: the last block ended inside a run
    std::uint64_t wide_ = 0;      // bytes of a letter that began in the last block
    std::size_t skip_until_ = 0;  // one past the last typographic mark
    std::size_t done_ = 0;        // one past the last number
    std::uint32_t index_ = 0;     // of the token
    std::size_t words_ = 0;       // known tokens so far
    std::uint32_t sentence_ = 0;  // sentences ended so far
    std::size_t line_ = 0;        // begin of the line
    std::size_t located_until_ = 0;
    std::uint32_t here_sentence_ = 0;
    std::uint16_t here_comment_ = 0;
    std::size_t seen_line_ = ~std::size_t{0};
};

}  // namespace

std::size_t scan(std::string_view text, const Vocabulary& vocabulary, bool prose,
                 PhraseFinder& phrases) {
    const std::size_t read = Scanner(text, vocabulary, prose, phrases).run();
    phrases.finish();
    return read;
}

}  // namespace aliquot::detect
