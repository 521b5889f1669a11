// SPDX-License-Identifier: Apache-2.0
#include "detect/tokens.h"

#include <array>

namespace aliquot::detect {
namespace {

constexpr std::size_t kLongestWord = 40;  // longer ones are data, not words

/// 0: no letter or digit; otherwise the byte in lower case.
constexpr std::array<unsigned char, 256> make_fold() {
    std::array<unsigned char, 256> fold{};
    for (unsigned byte = 0; byte < 256; ++byte) {
        const bool lower = byte >= 'a' && byte <= 'z';
        const bool upper = byte >= 'A' && byte <= 'Z';
        const bool digit = byte >= '0' && byte <= '9';
        if (lower || digit || byte >= 128) fold[byte] = static_cast<unsigned char>(byte);
        if (upper) fold[byte] = static_cast<unsigned char>(byte + 32);
    }
    return fold;
}

constexpr auto kFold = make_fold();

/// Separators that separator() has to look at.
constexpr std::array<bool, 256> make_ends_sentence() {
    std::array<bool, 256> ends{};
    for (const char byte : {'\n', ';', '!', '?', '.'})
        ends[static_cast<unsigned char>(byte)] = true;
    return ends;
}

constexpr auto kEndsSentence = make_ends_sentence();

constexpr bool is_digit(unsigned char byte) { return byte >= '0' && byte <= '9'; }

/// Reads one text. A class because a dozen values go from token to token.
class Scanner {
public:
    Scanner(std::string_view text, const Vocabulary& vocabulary, bool prose, std::vector<Hit>& hits)
        : text_(text), vocabulary_(vocabulary), prose_(prose), hits_(hits) {}

    void run() {
        comment_ = !prose_ && starts_comment(0);
        const std::size_t size = text_.size();
        std::size_t at = 0;
        while (at < size) {
            const unsigned char byte = byte_at(at);
            if (kFold[byte] == 0) {
                if (kEndsSentence[byte]) separator(at, byte);
                ++at;
            } else if (byte >= 0xC2 && is_punctuation(at)) {
                at += byte == 0xC2 ? 2 : 3;
            } else {
                at = token(at);
            }
        }
    }

private:
    [[nodiscard]] unsigned char byte_at(std::size_t at) const {
        return static_cast<unsigned char>(text_[at]);
    }

    /// U+2000..U+203F (quotes, dashes, bullets) and the no-break space, in UTF-8.
    [[nodiscard]] bool is_punctuation(std::size_t at) const {
        const unsigned char byte = byte_at(at);
        if (byte == 0xC2) return at + 1 < text_.size() && byte_at(at + 1) == 0xA0;
        return byte == 0xE2 && at + 2 < text_.size() && byte_at(at + 1) == 0x80;
    }

    void separator(std::size_t at, unsigned char byte) {
        const std::size_t size = text_.size();
        if (byte == '\n') {
            const bool goes_on =
                prose_ && at + 1 < size && byte_at(at + 1) >= 'a' && byte_at(at + 1) <= 'z';
            if (!goes_on) ++sentence_;
            comment_ = !prose_ && starts_comment(at + 1);
        } else if (byte == ';' || byte == '!' || byte == '?') {
            ++sentence_;
        } else if (byte == '.') {
            if (at + 1 == size || byte_at(at + 1) <= ' ') ++sentence_;
        }
    }

    [[nodiscard]] bool starts_comment(std::size_t at) const {
        const std::size_t size = text_.size();
        while (at < size && (text_[at] == ' ' || text_[at] == '\t')) ++at;
        if (at + 1 >= size) return false;
        if (text_[at] == '#') return text_[at + 1] != '!' && text_.substr(at, 7) != "#SBATCH";
        return text_[at] == '/' && text_[at + 1] == '/';
    }

    [[nodiscard]] std::size_t end_of_word(std::size_t at) const {
        const std::size_t size = text_.size();
        while (at < size) {
            const unsigned char byte = byte_at(at);
            if (kFold[byte] == 0) break;
            if ((byte == 0xC2 || byte == 0xE2) && is_punctuation(at)) break;
            ++at;
        }
        return at;
    }

    std::size_t token(std::size_t begin) {
        if (is_digit(byte_at(begin))) return number(begin);
        std::array<char, kLongestWord> word;  // NOLINT(*member-init): filled as far as it is read
        const std::size_t size = text_.size();
        std::uint32_t hash = kHashStart;
        std::uint32_t hash_of_stem = 0;
        std::size_t stem = 0;  // letters before the first digit
        std::size_t at = begin;
        for (; at < size; ++at) {
            const unsigned char folded = kFold[byte_at(at)];
            if (folded == 0) break;
            if (folded >= 128) {
                if (is_punctuation(at)) break;
                // The vocabulary is ASCII: a word with another letter is none of it.
                ++index_;
                return end_of_word(at + 1);
            }
            const std::size_t length = at - begin;
            if (length < kLongestWord) word[length] = static_cast<char>(folded);
            if (stem == 0 && is_digit(folded)) {
                stem = length;
                hash_of_stem = hash;
            }
            hash = hash_step(hash, folded);
        }
        const std::size_t length = at - begin;
        if (length < kLongestWord) {
            WordId id = kNoWord;
            if (vocabulary_.may_know(hash)) id = vocabulary_.find({word.data(), length}, hash);
            if (id == kNoWord && stem != 0) {
                hash_of_stem = hash_step(hash_of_stem, '#');
                if (vocabulary_.may_know(hash_of_stem)) {
                    word[stem] = '#';
                    id = vocabulary_.find({word.data(), stem + 1}, hash_of_stem);
                }
            }
            if (id != kNoWord) keep(begin, at, id);
        }
        ++index_;
        return at;
    }

    /// 7b, 8x7b, 24gb, 4x, 4xa100, 3090ti, 0.5, 12.4.1
    std::size_t number(std::size_t begin) {
        const std::size_t size = text_.size();
        std::size_t at = begin;
        while (at < size && (is_digit(byte_at(at)) ||
                             (byte_at(at) == '.' && at + 1 < size && is_digit(byte_at(at + 1))))) {
            ++at;
        }
        const std::size_t digits = at;
        while (at < size && kFold[byte_at(at)] != 0 && byte_at(at) < 128) ++at;
        std::array<char, kLongestWord> word;  // NOLINT(*member-init): filled as far as it is read
        const std::size_t length = at - begin;
        if (length < kLongestWord) {
            std::uint32_t hash = kHashStart;
            for (std::size_t i = 0; i < length; ++i) {
                word[i] = static_cast<char>(kFold[byte_at(begin + i)]);
                hash = hash_step(hash, static_cast<unsigned char>(word[i]));
            }
            const std::string_view whole(word.data(), length);
            const WordId known =
                vocabulary_.may_know(hash) ? vocabulary_.find(whole, hash) : kNoWord;
            const WordId id = known != kNoWord ? known : number_class(whole, digits - begin);
            if (id != kNoWord) keep(begin, at, id);
        }
        ++index_;
        return at;
    }

    [[nodiscard]] WordId number_class(std::string_view word, std::size_t digits) const {
        std::string_view unit = word.substr(digits);
        if (unit.empty()) return vocabulary_.number();
        if (unit == "b" || unit == "bn") return vocabulary_.billions();
        if (unit == "gb" || unit == "gib" || unit == "g" || unit == "gi") {
            return vocabulary_.gibibytes();
        }
        if (unit.front() != 'x') return kNoWord;
        unit.remove_prefix(1);
        if (unit.empty()) return vocabulary_.times();
        if (is_digit(static_cast<unsigned char>(unit.front()))) {
            return unit.back() == 'b' ? vocabulary_.billions() : kNoWord;
        }
        std::uint32_t hash = kHashStart;
        for (const char byte : unit) hash = hash_step(hash, static_cast<unsigned char>(byte));
        return vocabulary_.may_know(hash) ? vocabulary_.find(unit, hash) : kNoWord;
    }

    void keep(std::size_t begin, std::size_t end, WordId word) {
        hits_.push_back({static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end), index_,
                         sentence_, word, comment_});
    }

    std::string_view text_;
    const Vocabulary& vocabulary_;
    bool prose_;
    std::vector<Hit>& hits_;
    std::uint32_t index_ = 0;
    std::uint32_t sentence_ = 0;
    bool comment_ = false;
};

}  // namespace

void scan(std::string_view text, const Vocabulary& vocabulary, bool prose, std::vector<Hit>& hits) {
    hits.clear();
    Scanner(text, vocabulary, prose, hits).run();
}

}  // namespace aliquot::detect
