// SPDX-License-Identifier: Apache-2.0
#include "cel/tokens.h"

#include <algorithm>
#include <array>

#include "base/number.h"
#include "base/text.h"

namespace aliquot::cel {
namespace {

bool begins_name(char c) { return is_letter(c) || c == '_'; }

/// Reads an expression once, from its beginning to its end.
class TokenReader {
public:
    explicit TokenReader(std::string_view text) : text_(text) {}

    Result<std::vector<Token>> read() {
        while (skip_blanks(), at_ < text_.size()) {
            begin_ = at_;
            const auto done = read_one();
            if (!done) return done.error();
        }
        tokens_.push_back({Token::Kind::kEnd, "", text_.size()});
        return std::move(tokens_);
    }

private:
    void skip_blanks() {
        while (at_ < text_.size()) {
            if (is_blank(text_[at_])) {
                ++at_;
            } else if (text_.substr(at_, 2) == "//") {
                at_ = std::min(text_.find('\n', at_), text_.size());
            } else {
                return;
            }
        }
    }

    Result<Done> read_one() {
        const char c = text_[at_];
        const char next = at_ + 1 < text_.size() ? text_[at_ + 1] : '\0';
        const bool quote = c == '"' || c == '\'';
        if (quote || ((c == 'r' || c == 'R') && (next == '"' || next == '\''))) return read_text();
        if ((c == 'b' || c == 'B') && (next == '"' || next == '\''))
            return wrong("bytes are not supported");
        if (is_digit(c) || (c == '.' && is_digit(next))) return read_number();
        if (begins_name(c)) {
            while (at_ < text_.size() && (begins_name(text_[at_]) || is_digit(text_[at_]))) ++at_;
            return add(Token::Kind::kName, std::string(text_.substr(begin_, at_ - begin_)));
        }
        return read_sign();
    }

    Result<Done> read_sign() {
        constexpr std::array<std::string_view, 6> kPairs{"==", "!=", "<=", ">=", "&&", "||"};
        const std::string_view pair = text_.substr(at_, 2);
        if (std::ranges::find(kPairs, pair) != kPairs.end()) {
            at_ += 2;
            return add(Token::Kind::kSign, std::string(pair));
        }
        const char c = text_[at_];
        if (c == '=' || c == '&' || c == '|') {
            return wrong(std::string("CEL has no operator '") + c + "', use '" +
                         (c == '=' ? "==" : std::string(2, c)) + "'");
        }
        constexpr std::string_view kSigns = "+-*/%!<>?:.,()[]{}";
        if (kSigns.find(c) == std::string_view::npos) {
            return wrong("unexpected character " + shown(c));
        }
        ++at_;
        return add(Token::Kind::kSign, std::string(1, c));
    }

    static std::string shown(char c) {
        constexpr std::string_view kDigits = "0123456789abcdef";
        const auto byte = static_cast<unsigned char>(c);
        if (byte > 0x20 && byte < 0x7f) return std::string("'") + c + "'";
        return {'0', 'x', kDigits[byte >> 4U], kDigits[byte & 15U]};
    }

    Result<Done> read_number() {
        std::string_view rest = text_.substr(at_);
        if (rest.starts_with("0x") || rest.starts_with("0X")) {
            rest.remove_prefix(2);
            const auto value = take_number<std::int64_t>(rest, 16);
            if (!value) return wrong("not a hexadecimal number of 64 bits");
            at_ = text_.size() - rest.size();
            return end_number(Token::Kind::kWhole, std::to_string(*value));
        }
        std::size_t end = at_;
        const auto digits = [&] {
            while (end < text_.size() && is_digit(text_[end])) ++end;
        };
        digits();
        bool whole = true;
        if (end + 1 < text_.size() && text_[end] == '.' && is_digit(text_[end + 1])) {
            whole = false;
            ++end;
            digits();
        }
        if (end < text_.size() && lower(text_[end]) == 'e') {
            std::size_t exponent = end + 1;
            if (exponent < text_.size() && (text_[exponent] == '+' || text_[exponent] == '-')) {
                ++exponent;
            }
            if (exponent < text_.size() && is_digit(text_[exponent])) {
                whole = false;
                end = exponent;
                digits();
            }
        }
        std::string number(text_.substr(at_, end - at_));
        at_ = end;
        return end_number(whole ? Token::Kind::kWhole : Token::Kind::kNumber, std::move(number));
    }

    Result<Done> end_number(Token::Kind kind, std::string number) {
        if (at_ < text_.size() && lower(text_[at_]) == 'u') {
            return wrong("unsigned numbers are not supported");
        }
        if (at_ < text_.size() && begins_name(text_[at_])) return wrong("not a number");
        return add(kind, std::move(number));
    }

    Result<Done> read_text() {
        const bool raw = lower(text_[at_]) == 'r';
        if (raw) ++at_;
        const char quote = text_[at_];
        const std::string three(3, quote);
        const bool triple = text_.substr(at_, 3) == three;
        const std::string_view close = triple ? std::string_view(three) : text_.substr(at_, 1);
        at_ += close.size();
        std::string value;
        while (at_ < text_.size()) {
            if (text_.substr(at_).starts_with(close)) {
                at_ += close.size();
                return add(Token::Kind::kText, std::move(value));
            }
            const char c = text_[at_];
            if (c == '\n' && !triple) break;
            if (c == '\\' && !raw) {
                const auto done = read_escape(value);
                if (!done) return done;
            } else {
                value += c;
                ++at_;
            }
        }
        return wrong("the text is not closed");
    }

    Result<Done> read_escape(std::string& value) {
        const std::size_t begin = at_++;
        const char c = at_ < text_.size() ? text_[at_++] : '\0';
        constexpr std::string_view kLetters = "abfnrtv\\?\"'`";
        constexpr std::string_view kMeant = "\a\b\f\n\r\t\v\\?\"'`";
        if (const auto found = kLetters.find(c); c != '\0' && found != std::string_view::npos) {
            value += kMeant[found];
            return Done{};
        }
        const std::size_t digits = c == 'x' || c == 'X' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
        std::string_view code = text_.substr(at_, digits);
        const auto number = digits == 0 ? std::nullopt : parse_number<std::uint32_t>(code, 16);
        const bool unicode = number && code.size() == digits && *number <= 0x10FFFF &&
                             (*number < 0xD800 || *number > 0xDFFF);
        if (!unicode) return error_at(text_, begin, "no escape of CEL");
        at_ += digits;
        append_utf8(value, static_cast<char32_t>(*number));
        return Done{};
    }

    Result<Done> add(Token::Kind kind, std::string text) {
        tokens_.push_back({kind, std::move(text), begin_});
        return Done{};
    }
    [[nodiscard]] Error wrong(std::string_view what) const { return error_at(text_, begin_, what); }

    std::string_view text_;
    std::size_t at_ = 0;
    std::size_t begin_ = 0;
    std::vector<Token> tokens_;
};

}  // namespace

std::string place_text(std::string_view text, std::size_t offset) {
    offset = std::min(offset, text.size());
    const std::string_view before = text.substr(0, offset);
    const auto line = std::ranges::count(before, '\n') + 1;
    const std::size_t newline = before.rfind('\n');
    const std::size_t column = newline == std::string_view::npos ? offset + 1 : offset - newline;
    return std::to_string(line) + ":" + std::to_string(column);
}

Error error_at(std::string_view text, std::size_t offset, std::string_view what) {
    return {ErrorCode::kInvalidInput, place_text(text, offset) + ": " + std::string(what)};
}

Result<std::vector<Token>> read_tokens(std::string_view text) { return TokenReader(text).read(); }

}  // namespace aliquot::cel
