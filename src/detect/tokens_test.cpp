// SPDX-License-Identifier: Apache-2.0
//
// The scanner against one that goes byte by byte and is too plain to be wrong.
#include "detect/tokens.h"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace aliquot::detect {
namespace {

bool is_digit(char byte) { return byte >= '0' && byte <= '9'; }
bool is_high(char byte) { return static_cast<unsigned char>(byte) >= 128; }
char lower(char byte) { return byte >= 'A' && byte <= 'Z' ? char(byte + 32) : byte; }
bool is_ascii_word(char byte) {
    return is_digit(byte) || (lower(byte) >= 'a' && lower(byte) <= 'z');
}

/// One phrase with all that the judge sees of it.
struct Found {
    std::size_t begin, end, first, last, sentence;
    PatternId pattern;
    bool comment;
    bool operator==(const Found&) const = default;
};

std::ostream& operator<<(std::ostream& out, const Found& one) {
    return out << one.begin << ".." << one.end << " token " << one.first << ".." << one.last
               << " sentence " << one.sentence << " pattern " << one.pattern
               << (one.comment ? " comment" : "");
}

class SlowScanner {
public:
    SlowScanner(std::string_view text, const Vocabulary& vocabulary, bool prose)
        : text_(text), vocabulary_(vocabulary), prose_(prose) {}

    std::vector<Found> phrases() {
        read();
        std::vector<Found> found;
        for (std::size_t i = 0; i < hits_.size();) {
            const std::size_t length = phrase_at(i, found);
            i += length == 0 ? 1 : length;
        }
        return found;
    }

private:
    struct Token {
        std::size_t begin, end, index, sentence;
        WordId word;
        bool comment;
    };

    std::size_t phrase_at(std::size_t at, std::vector<Found>& found) const {
        std::uint32_t state = vocabulary_.start(hits_[at].word).state;
        std::size_t length = 0;
        PatternId pattern = kNoPattern;
        for (std::size_t k = at; state != 0;) {
            if (vocabulary_.state(state).accepts != kNoPattern) {
                pattern = vocabulary_.state(state).accepts;
                length = k + 1 - at;
            }
            if (++k == hits_.size() || hits_[k].index != hits_[k - 1].index + 1 ||
                hits_[k].sentence != hits_[at].sentence)
                break;
            state = vocabulary_.next(state, hits_[k].word);
        }
        if (length == 0) return 0;
        const Token& first = hits_[at];
        const Token& last = hits_[at + length - 1];
        found.push_back({first.begin, last.end, first.index, last.index, first.sentence, pattern,
                         first.comment});
        return length;
    }

    [[nodiscard]] std::size_t mark_length(std::size_t at) const {
        const std::string_view rest = text_.substr(at);
        if (rest.starts_with("\xC2\xA0")) return 2;
        return rest.starts_with("\xE2\x80") && rest.size() > 2 ? 3 : 0;
    }

    /// A byte of a word, and of no letter of Chinese, Japanese or Korean.
    [[nodiscard]] bool is_word(std::size_t at) const {
        for (std::size_t back = 0; back < 3 && back <= at; ++back) {
            const auto byte = static_cast<unsigned char>(text_[at - back]);
            if (byte >= 0xE3 && byte < 0xF0) return false;
        }
        return is_ascii_word(text_[at]) || is_high(text_[at]);
    }

    [[nodiscard]] bool starts_comment(std::size_t at) const {
        std::string_view rest = text_.substr(std::min(at, text_.size()));
        while (!rest.empty() && (rest[0] == ' ' || rest[0] == '\t')) rest.remove_prefix(1);
        if (rest.size() < 2) return false;
        if (rest.starts_with("#!") || rest.starts_with("#SBATCH")) return false;
        return rest[0] == '#' || rest.starts_with("//");
    }

    void read() {
        comment_ = !prose_ && starts_comment(0);
        for (std::size_t at = 0; at < text_.size();) {
            if (const std::size_t mark = mark_length(at); mark != 0) {
                at += mark;
            } else if (is_word(at)) {
                at = is_digit(text_[at]) ? number(at) : word(at);
                ++index_;
            } else {
                separator(at++);
            }
        }
    }

    void separator(std::size_t at) {
        const char byte = text_[at];
        const char next = at + 1 < text_.size() ? text_[at + 1] : ' ';
        if (byte == '\n') {
            if (!prose_ || next < 'a' || next > 'z') ++sentence_;
            comment_ = !prose_ && starts_comment(at + 1);
        }
        if (byte == ';' || byte == '!' || byte == '?') ++sentence_;
        if (byte == '.' && static_cast<unsigned char>(next) <= ' ') ++sentence_;
    }

    std::size_t word(std::size_t begin) {
        std::size_t at = begin;
        bool foreign = false;
        std::string name;
        while (at < text_.size() && mark_length(at) == 0 && is_word(at)) {
            foreign = foreign || is_high(text_[at]);
            name += lower(text_[at++]);
        }
        if (name.size() >= 40) return at;
        WordId id = vocabulary_.find(name);
        if (foreign) {
            keep(begin, at, id);
            return at;
        }
        const std::size_t digit = name.find_first_of("0123456789");
        if (id == kNoWord && digit != std::string::npos) {
            id = vocabulary_.find(name.substr(0, digit) + '#');
        }
        if (id == kNoWord && digit == std::string::npos)
            id = family(text_.substr(begin, at - begin));
        keep(begin, at, id);
        return at;
    }

    /// The longest "*ending" of a word of mixed case.
    [[nodiscard]] WordId family(std::string_view word) const {
        bool small = false;
        bool capital = false;
        for (std::size_t i = 0; i < word.size(); ++i) {
            small = small || lower(word[i]) == word[i];
            capital = capital || (i > 0 && lower(word[i]) != word[i]);
        }
        if (!small || !capital || word.size() < 5) return kNoWord;
        for (std::size_t cut = 2; cut + 2 <= word.size(); ++cut) {
            std::string ending = "*";
            for (const char byte : word.substr(cut)) ending += lower(byte);
            if (const WordId id = vocabulary_.find(ending); id != kNoWord) return id;
        }
        return kNoWord;
    }

    std::size_t number(std::size_t begin) {
        std::size_t at = begin;
        std::string name;
        while (at < text_.size() &&
               (is_digit(text_[at]) ||
                (text_[at] == '.' && at + 1 < text_.size() && is_digit(text_[at + 1])))) {
            name += text_[at++];
        }
        const std::size_t digits = name.size();
        while (at < text_.size() && is_ascii_word(text_[at])) name += lower(text_[at++]);
        if (name.size() >= 40) return at;
        const WordId known = vocabulary_.find(name);
        keep(begin, at, known != kNoWord ? known : class_of(name.substr(digits)));
        return at;
    }

    [[nodiscard]] WordId class_of(const std::string& unit) const {
        if (unit.empty()) return vocabulary_.number();
        if (unit == "b" || unit == "bn") return vocabulary_.billions();
        if (unit == "m") return vocabulary_.millions();
        if (unit == "gb" || unit == "gib" || unit == "g" || unit == "gi")
            return vocabulary_.gibibytes();
        if (unit == "x") return vocabulary_.times();
        if (unit[0] != 'x') return kNoWord;
        if (is_digit(unit[1])) return unit.back() == 'b' ? vocabulary_.billions() : kNoWord;
        return vocabulary_.find(unit.substr(1));
    }

    void keep(std::size_t begin, std::size_t end, WordId word) {
        if (word != kNoWord) hits_.push_back({begin, end, index_, sentence_, word, comment_});
    }

    std::string_view text_;
    const Vocabulary& vocabulary_;
    bool prose_;
    std::vector<Token> hits_;
    std::size_t index_ = 0;
    std::size_t sentence_ = 0;
    bool comment_ = false;
};

std::vector<Found> fast(std::string_view text, bool prose) {
    const Vocabulary& vocabulary = Vocabulary::instance();
    std::vector<Match> phrases;
    PhraseFinder finder(vocabulary, phrases);
    scan(text, vocabulary, prose, finder);
    std::vector<Found> found;
    for (const Match& match : phrases) {
        found.push_back({match.begin, match.end, match.first, match.last, match.sentence,
                         match.pattern, match.comment});
    }
    return found;
}

void expect_same(const std::string& text) {
    for (const bool prose : {true, false}) {
        const auto slow = SlowScanner(text, Vocabulary::instance(), prose).phrases();
        ASSERT_EQ(fast(text, prose), slow) << testing::PrintToString(text);
    }
}

class Texts {
public:
    explicit Texts(unsigned seed) : random_(seed) {}

    /// Pieces that the scanner must not confuse, and words of the table, up to `most` bytes.
    std::string next(std::size_t most) {
        static constexpr std::array<std::string_view, 72> kPieces = {
            "gpu",
            "GPU",
            "no",
            "without a",
            "cuda",
            "a100",
            "A100s",
            "4xa100",
            "8x7b",
            "7b",
            "24gb",
            "0.5",
            "1.",
            ".",
            "..",
            "12.4.1",
            "3090",
            "yolov8",
            "transformers",
            "stable diffusion",
            "fine-tune",
            "object detection",
            "machine learning",
            "a",
            "an",
            "if available",
            "on",
            "only",
            "\n",
            "\n",
            "\n# ",
            "\n  // ",
            "\n#SBATCH ",
            "#!",
            ";",
            "!",
            "? ",
            " ",
            " ",
            " ",
            " ",
            " ",
            "-",
            "_",
            "/",
            ":",
            "=",
            "\t",
            "\r\n",
            "\xC2\xA0",
            "\xE2\x80\x94",
            "\xE2\x80",
            "\xE2",
            "\xC2",
            "\xC3\xA9",
            "\xE3\x81\x8C",
            "\xEF\xBC\x81",
            "\xE4",
            "gr\xC3\xA1"
            "fica",
            "\xD0\xB1\xD0\xB5\xD0\xB7",
            "\x80",
            "12\xC3\xA9",
            "1.5\xC3\xA9",
            "\xE2\x80\n",
            "\xE2\x80\xE2\x80\x80",
            "\xE2\x80\x35.6",
            "\0x",
            "nvidia.com/gpu: 2",
            "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"};
        std::string text;
        const std::size_t size = random_() % most;
        while (text.size() < size) {
            if (random_() % 16 == 0) {
                text += static_cast<char>(random_());
            } else {
                text += kPieces[random_() % kPieces.size()];
            }
        }
        return text;
    }

    std::string noise(std::size_t size) {
        std::string text(size, '\0');
        for (char& byte : text) byte = static_cast<char>(random_());
        return text;
    }

private:
    std::mt19937 random_;
};

TEST(Scan, FindsInRandomPiecesWhatAPlainScannerFinds) {
    Texts texts(1);
    for (int i = 0; i < 1500; ++i) expect_same(texts.next(200));
    for (int i = 0; i < 30; ++i) expect_same(texts.next(9000));
}

TEST(Scan, FindsInNoiseWhatAPlainScannerFinds) {
    Texts texts(2);
    for (int i = 0; i < 20; ++i) expect_same(texts.noise(10'000));
}

TEST(Scan, FindsTheSameAcrossEveryBorderOfItsBlocks) {
    for (const std::string_view piece :
         {"train on 2 gpus", "12.4.1 cuda", "\xE2\x80\x94gpu", "gpu\xC2\xA0", "a\n# gpu", "gpu."}) {
        for (const std::size_t border : {64U, 1024U, 2048U}) {
            for (std::size_t at = border - 20; at <= border + 2; ++at) {
                std::string text(at, ' ');
                text += piece;
                expect_same(text);
                text += " and a gpu";
                text.insert(0, "no ");
                expect_same(text);
            }
        }
    }
}

TEST(Scan, TakesOneLongWordOneLongNumberAndOneLongBlank) {
    for (const char byte : {'a', '7', ' ', '\xC3', '.', '\n'}) {
        for (const std::size_t size : {63U, 64U, 65U, 1023U, 1024U, 1025U, 4096U, 5000U}) {
            expect_same(std::string(size, byte));
            expect_same("gpu " + std::string(size, byte) + " gpu");
        }
    }
}

}  // namespace
}  // namespace aliquot::detect
