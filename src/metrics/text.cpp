// SPDX-License-Identifier: Apache-2.0
#include "metrics/text.h"

#include <array>
#include <charconv>
#include <cmath>

namespace aliquot::metrics {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

/// Bytes of the UTF-8 sequence at the front; 0: it is none.
std::size_t sequence_length(std::string_view text) {
    const auto byte = [text](std::size_t at) { return static_cast<unsigned char>(text[at]); };
    const unsigned first = byte(0);
    std::size_t length = 0;
    unsigned least = 0x80;
    unsigned most = 0xBF;
    if (first >= 0xC2 && first <= 0xDF) {
        length = 2;
    } else if (first >= 0xE0 && first <= 0xEF) {
        length = 3;
        if (first == 0xE0) least = 0xA0;
        if (first == 0xED) most = 0x9F;
    } else if (first >= 0xF0 && first <= 0xF4) {
        length = 4;
        if (first == 0xF0) least = 0x90;
        if (first == 0xF4) most = 0x8F;
    }
    if (length == 0 || text.size() < length || byte(1) < least || byte(1) > most) return 0;
    for (std::size_t at = 2; at < length; ++at) {
        if (byte(at) < 0x80 || byte(at) > 0xBF) return 0;
    }
    return length;
}

bool is_plain(std::string_view text) {
    for (const char c : text) {
        if (c == '\\' || c == '"' || c == '\n' || static_cast<unsigned char>(c) >= 0x80) {
            return false;
        }
    }
    return true;
}

void append_escaped(std::string& out, std::string_view text, bool quotes) {
    if (is_plain(text)) {
        out += text;
        return;
    }
    while (!text.empty()) {
        std::size_t length = 1;
        const char c = text.front();
        if (c == '\\') {
            out += "\\\\";
        } else if (c == '"' && quotes) {
            out += "\\\"";
        } else if (c == '\n') {
            out += "\\n";
        } else if (static_cast<unsigned char>(c) < 0x80) {
            out += c;
        } else {
            length = sequence_length(text);
            out += length == 0 ? kReplacement : text.substr(0, length);
            length = length == 0 ? 1 : length;
        }
        text.remove_prefix(length);
    }
}

void append_number(std::string& out, std::uint64_t value) {
    std::array<char, 20> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
    out.append(digits.data(), static_cast<std::size_t>(end - digits.data()));
}

}  // namespace

void append_label(std::string& labels, std::string_view name, std::string_view value) {
    if (!labels.empty()) labels += ',';
    labels += name;
    labels += "=\"";
    append_escaped(labels, value, true);
    labels += '"';
}

void append_label(std::string& labels, std::string_view name, std::uint64_t value) {
    if (!labels.empty()) labels += ',';
    labels += name;
    labels += "=\"";
    append_number(labels, value);
    labels += '"';
}

void Text::family(std::string_view name, std::string_view help, std::string_view type,
                  std::string_view unit) {
    name_ = name;
    help_ = help;
    type_ = type;
    unit_ = unit;
    headed_ = false;
}

void Text::single(std::string_view name, std::string_view help, std::string_view type,
                  std::uint64_t value) {
    family(name, help, type);
    row("").is(value);
}

/// In OpenMetrics a family is named without what its samples end in, and a counter without _total
/// is none.
void Text::head() {
    headed_ = true;
    std::string_view name = name_;
    std::string_view type = type_;
    const bool open_metrics = format_ == Format::kOpenMetrics;
    if (open_metrics) {
        const std::string_view ending = type == "counter" ? "_total"
                                        : type == "info"  ? "_info"
                                                          : "";
        if (name.ends_with(ending)) {
            name.remove_suffix(ending.size());
        } else {
            type = "unknown";
        }
        if (type == "untyped") type = "unknown";
    } else {
        if (type == "info") type = "gauge";
    }
    out_ += "# HELP ";
    out_ += name;
    out_ += ' ';
    append_escaped(out_, help_, open_metrics);
    out_ += "\n# TYPE ";
    out_ += name;
    out_ += ' ';
    out_ += type;
    out_ += '\n';
    if (open_metrics && unit_ != "none" && name.size() > unit_.size() && name.ends_with(unit_) &&
        name[name.size() - unit_.size() - 1] == '_') {
        out_ += "# UNIT ";
        out_ += name;
        out_ += ' ';
        out_ += unit_;
        out_ += '\n';
    }
}

void Text::separate() {
    out_ += labelled_ ? ',' : '{';
    labelled_ = true;
}

Text& Text::row(std::string_view labels, std::string_view ending) {
    if (!headed_) head();
    out_ += name_;
    out_ += ending;
    labelled_ = false;
    return more(labels);
}

Text& Text::more(std::string_view labels) {
    if (labels.empty()) return *this;
    separate();
    out_ += labels;
    return *this;
}

Text& Text::label(std::string_view name, std::string_view value) {
    separate();
    out_ += name;
    out_ += "=\"";
    append_escaped(out_, value, true);
    out_ += '"';
    return *this;
}

Text& Text::label(std::string_view name, std::uint64_t value) {
    separate();
    out_ += name;
    out_ += "=\"";
    append_number(out_, value);
    out_ += '"';
    return *this;
}

void Text::is(std::string_view written) {
    out_ += labelled_ ? "} " : " ";
    out_ += written;
    out_ += '\n';
}

void Text::is(Decimal value) {
    out_ += labelled_ ? "} " : " ";
    std::uint64_t unit = 1;
    for (unsigned digit = 0; digit < value.digits; ++digit) unit *= 10;
    append_number(out_, value.value / unit);
    std::uint64_t fraction = value.value % unit;
    if (fraction != 0 || (value.padded && value.digits > 0)) {
        out_ += '.';
        const std::size_t from = out_.size();
        for (unit /= 10; unit > 0; unit /= 10) {
            out_ += static_cast<char>('0' + fraction / unit);
            fraction %= unit;
        }
        while (!value.padded && out_.size() > from && out_.back() == '0') out_.pop_back();
    }
    out_ += '\n';
}

void Text::is(double value) {
    constexpr double kMostExact = 9007199254740992.0;  // 2^53
    constexpr double kPlaces = 1e6;
    if (value >= 0 && value <= kMostExact && std::floor(value) == value) {
        is(static_cast<std::uint64_t>(value));
    } else if (value >= 0 && value <= kMostExact / kPlaces) {
        is(Decimal{static_cast<std::uint64_t>(std::llround(value * kPlaces)), 6, false});
    } else {
        std::array<char, 32> digits{};
        const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
        is(std::string_view(digits.data(), static_cast<std::size_t>(end - digits.data())));
    }
}

void Text::finish() {
    if (format_ == Format::kOpenMetrics) out_ += "# EOF\n";
}

}  // namespace aliquot::metrics
