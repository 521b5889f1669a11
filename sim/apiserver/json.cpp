// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "sim/apiserver/value.h"

namespace aliquot::sim::apiserver {

namespace {

constexpr unsigned kDepthMax = 512;

class Reader {
public:
    explicit Reader(std::string_view text) : text_(text) {}

    Result<Parsed> read() {
        Parsed parsed;
        parsed.value = value(0);
        blanks();
        if (!failure_.empty()) return fail();
        if (at_ != text_.size()) {
            failure_ = "invalid character after top-level value";
            return fail();
        }
        parsed.duplicates = std::move(duplicates_);
        return parsed;
    }

private:
    [[nodiscard]] Error fail() const {
        return {ErrorCode::kInvalidInput, "JSON, byte " + std::to_string(at_) + ": " + failure_};
    }

    void stop(std::string why) {
        if (failure_.empty()) failure_ = std::move(why);
    }

    void blanks() {
        while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' ||
                                      text_[at_] == '\r' || text_[at_] == '\t')) {
            ++at_;
        }
    }

    bool take(char wanted) {
        blanks();
        if (at_ >= text_.size() || text_[at_] != wanted) return false;
        ++at_;
        return true;
    }

    Value value(unsigned depth) {
        blanks();
        if (depth > kDepthMax) stop("exceeded max depth");
        if (!failure_.empty()) return {};
        if (at_ >= text_.size()) {
            stop("unexpected end of JSON input");
            return {};
        }
        switch (text_[at_]) {
            case '{':
                return object(depth);
            case '[':
                return array(depth);
            case '"':
                return string();
            case 't':
                return word("true", true);
            case 'f':
                return word("false", false);
            case 'n':
                return word("null", nullptr);
            default:
                return number();
        }
    }

    Value word(std::string_view spelled, Value meant) {
        if (text_.substr(at_, spelled.size()) != spelled) {
            stop("invalid character looking for beginning of value");
            return {};
        }
        at_ += spelled.size();
        return meant;
    }

    Value object(unsigned depth) {
        Value made = Value::object();
        ++at_;
        if (take('}')) return made;
        do {
            blanks();
            if (at_ >= text_.size() || text_[at_] != '"') {
                stop("expected an object key");
                return {};
            }
            const std::string key = string().text();
            if (!take(':')) stop("expected ':' after object key");
            if (!failure_.empty()) return {};
            const std::size_t length = path_.size();
            if (!path_.empty()) path_ += '.';
            path_ += key;
            if (made.find(key) != nullptr && duplicates_.size() < 16) duplicates_.push_back(path_);
            made[key] = value(depth + 1);
            path_.resize(length);
            if (!failure_.empty()) return {};
        } while (take(','));
        if (!take('}')) stop("expected ',' or '}' in object");
        return made;
    }

    Value array(unsigned depth) {
        Value::Array made;
        ++at_;
        if (take(']')) return made;
        const std::size_t length = path_.size();
        do {
            path_ += '[' + std::to_string(made.size()) + ']';
            made.push_back(value(depth + 1));
            path_.resize(length);
            if (!failure_.empty()) return {};
        } while (take(','));
        if (!take(']')) stop("expected ',' or ']' in array");
        return made;
    }

    Value number() {
        const std::size_t start = at_;
        const auto digits = [this] {
            const std::size_t first = at_;
            while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') ++at_;
            return at_ - first;
        };
        if (at_ < text_.size() && text_[at_] == '-') ++at_;
        const std::size_t whole = at_;
        const std::size_t count = digits();
        bool good = count > 0 && (count == 1 || text_[whole] != '0');
        bool integer = true;
        if (at_ < text_.size() && text_[at_] == '.') {
            ++at_;
            integer = false;
            good = digits() > 0 && good;
        }
        if (at_ < text_.size() && (text_[at_] == 'e' || text_[at_] == 'E')) {
            ++at_;
            integer = false;
            if (at_ < text_.size() && (text_[at_] == '+' || text_[at_] == '-')) ++at_;
            good = digits() > 0 && good;
        }
        if (!good) {
            at_ = start;
            stop("invalid character looking for beginning of value");
            return {};
        }
        const char* first = text_.data() + start;
        const char* last = text_.data() + at_;
        std::int64_t exact = 0;
        if (integer && std::from_chars(first, last, exact).ec == std::errc()) return exact;
        double close = 0;
        const auto read = std::from_chars(first, last, close);
        if (read.ec != std::errc()) stop("number out of range");
        return close;
    }

    Value string() {
        ++at_;
        std::string made;
        while (at_ < text_.size()) {
            const char c = text_[at_];
            if (c == '"') {
                ++at_;
                return made;
            }
            if (static_cast<unsigned char>(c) < 0x20) break;
            if (c == '\\') {
                if (!escape(made)) return {};
                continue;
            }
            made += c;
            ++at_;
        }
        stop("invalid character in string literal");
        return {};
    }

    int hex4(std::size_t place) const {
        int code = 0;
        if (place + 4 > text_.size()) return -1;
        const auto read = std::from_chars(text_.data() + place, text_.data() + place + 4, code, 16);
        return read.ptr == text_.data() + place + 4 && read.ec == std::errc() ? code : -1;
    }

    bool escape(std::string& made) {
        const char letter = at_ + 1 < text_.size() ? text_[at_ + 1] : '\0';
        static constexpr std::string_view kLetters = "\"\\/bfnrt";
        static constexpr std::string_view kMeant = "\"\\/\b\f\n\r\t";
        if (const std::size_t index = kLetters.find(letter);
            letter != '\0' && index != std::string_view::npos) {
            made += kMeant[index];
            at_ += 2;
            return true;
        }
        int code = letter == 'u' ? hex4(at_ + 2) : -1;
        if (code < 0) {
            stop("invalid escape in string literal");
            return false;
        }
        at_ += 6;
        if (code >= 0xD800 && code < 0xDC00 && text_.substr(at_, 2) == "\\u") {
            const int low = hex4(at_ + 2);
            if (low >= 0xDC00 && low < 0xE000) {
                code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
                at_ += 6;
            }
        }
        if (code >= 0xD800 && code < 0xE000) code = 0xFFFD;
        append_utf8(made, static_cast<std::uint32_t>(code));
        return true;
    }

    static void append_utf8(std::string& made, std::uint32_t code) {
        if (code < 0x80) {
            made += static_cast<char>(code);
        } else if (code < 0x800) {
            made += static_cast<char>(0xC0 | (code >> 6));
            made += static_cast<char>(0x80 | (code & 0x3F));
        } else if (code < 0x10000) {
            made += static_cast<char>(0xE0 | (code >> 12));
            made += static_cast<char>(0x80 | ((code >> 6) & 0x3F));
            made += static_cast<char>(0x80 | (code & 0x3F));
        } else {
            made += static_cast<char>(0xF0 | (code >> 18));
            made += static_cast<char>(0x80 | ((code >> 12) & 0x3F));
            made += static_cast<char>(0x80 | ((code >> 6) & 0x3F));
            made += static_cast<char>(0x80 | (code & 0x3F));
        }
    }

    std::string_view text_;
    std::size_t at_ = 0;
    std::string path_;
    std::string failure_;
    std::vector<std::string> duplicates_;
};

void append_number(std::string& out, double number) {
    std::array<char, 40> buffer{};
    const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number);
    const std::string_view text(buffer.data(), static_cast<std::size_t>(end.ptr - buffer.data()));
    out += std::isfinite(number) ? text : std::string_view("null");
}

}  // namespace

Result<Parsed> parse_json(std::string_view text) { return Reader(text).read(); }

void append_quoted(std::string& out, std::string_view text) {
    out += '"';
    for (const char c : text) {
        switch (c) {
            case '"':
                out += "\\\"";
                break;
            case '\\':
                out += "\\\\";
                break;
            case '\n':
                out += "\\n";
                break;
            case '\r':
                out += "\\r";
                break;
            case '\t':
                out += "\\t";
                break;
            default:
                if (static_cast<unsigned char>(c) < 0x20) {
                    static constexpr std::string_view kDigits = "0123456789abcdef";
                    out += "\\u00";
                    out += kDigits[static_cast<unsigned char>(c) >> 4];
                    out += kDigits[static_cast<unsigned char>(c) & 15];
                } else {
                    out += c;
                }
        }
    }
    out += '"';
}

void append_json(std::string& out, const Value& value) {
    if (value.is_object()) {
        char before = '{';
        for (const Member& member : value.members()) {
            out += before;
            append_quoted(out, member.name);
            out += ':';
            append_json(out, member.value);
            before = ',';
        }
        out += before == '{' ? "{}" : "}";
    } else if (value.is_array()) {
        char before = '[';
        for (const Value& item : value.items()) {
            out += before;
            append_json(out, item);
            before = ',';
        }
        out += before == '[' ? "[]" : "]";
    } else if (value.is_string()) {
        append_quoted(out, value.text());
    } else if (value.is_integer()) {
        out += std::to_string(value.integer());
    } else if (value.is_number()) {
        append_number(out, value.number());
    } else {
        out += value.is_null() ? "null" : value.boolean() ? "true" : "false";
    }
}

std::string to_json(const Value& value) {
    std::string out;
    append_json(out, value);
    return out;
}

}  // namespace aliquot::sim::apiserver
