// SPDX-License-Identifier: Apache-2.0
#include "document/write.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "base/text.h"
#include "document/scalar.h"

namespace aliquot::document {
namespace {

bool is_collection(const Value& node) { return node.is_mapping() || node.is_sequence(); }
bool is_empty(const Value& node) { return node.items.empty() && node.entries.empty(); }

/// A character beyond ASCII that ends a line for some reader of YAML, or that none may have in a text:
/// it is only ever written as an escape.
struct Special {
    std::size_t bytes = 0;  // 0: it is none
    std::string escape;
};

Special special_at(std::string_view text) {
    const auto byte = [&](std::size_t i) {
        return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
    };
    std::array<char, 8> escape{};
    if (byte(0) == 0xc2U && byte(1) >= 0x80U && byte(1) < 0xa0U) {  // U+0085, and controls like it
        std::snprintf(escape.data(), escape.size(), "\\x%02x", byte(1));
        return {2, escape.data()};
    }
    if (byte(0) == 0xe2U && byte(1) == 0x80U && (byte(2) == 0xa8U || byte(2) == 0xa9U)) {
        return {3, byte(2) == 0xa8U ? "\\u2028" : "\\u2029"};
    }
    if (byte(0) == 0xefU && byte(1) == 0xbbU && byte(2) == 0xbfU) return {3, "\\ufeff"};
    if (byte(0) == 0xefU && byte(1) == 0xbfU && byte(2) >= 0xbeU) {
        return {3, byte(2) == 0xbeU ? "\\ufffe" : "\\uffff"};
    }
    return {};
}

bool has_special(std::string_view text) {
    for (std::size_t at = 0;
         (at = text.find_first_of("\xc2\xe2\xef", at)) != std::string_view::npos; ++at) {
        if (special_at(text.substr(at)).bytes != 0) return true;
    }
    return false;
}

/// Whether a text can stand without quotes and be read as the same text by any YAML reader: so
/// nothing that YAML 1.1 takes for a bool either.
bool is_plain(std::string_view text) {
    if (resolve_plain(text) != Value::Kind::kString || has_special(text)) return false;
    constexpr std::array<std::string_view, 9> kOldWords{"y",   "n",  "yes", "no", "on",
                                                        "off", "<<", "=",   "0b"};
    const std::string low = lower(text);
    if (std::find(kOldWords.begin(), kOldWords.end(), low) != kOldWords.end()) return false;
    constexpr std::string_view kIndicators = "-?:,[]{}#&*!|>'\"%@` ";
    if (kIndicators.find(text.front()) != std::string_view::npos || text.back() == ' ' ||
        text.back() == ':') {
        return false;
    }
    if (text.front() >= '0' && text.front() <= '9' &&
        text.find_first_not_of("0123456789_:.+-xXeEabcdefABCDEF") == std::string_view::npos) {
        return false;  // dates, sexagesimals and digits with '_' of YAML 1.1
    }
    constexpr std::size_t kDay = std::string_view("2026-11-28").size();
    if (text.size() >= kDay && text[4] == '-' && text[7] == '-' &&
        text.substr(0, kDay).find_first_not_of("0123456789-") == std::string_view::npos) {
        return false;  // a time of YAML 1.1: "2026-11-28T09:00:00Z"
    }
    if (text.find(": ") != std::string_view::npos || text.find(" #") != std::string_view::npos) {
        return false;
    }
    return std::all_of(text.begin(), text.end(), [](char c) {
        const auto byte = static_cast<unsigned char>(c);
        return byte >= 0x20U && byte != 0x7fU &&
               std::string_view("[]{},").find(c) == std::string_view::npos;
    });
}

std::string double_quoted(std::string_view text) {
    std::string quoted = "\"";
    for (std::size_t at = 0; at < text.size(); ++at) {
        const char c = text[at];
        const auto byte = static_cast<unsigned char>(c);
        if (const Special special = special_at(text.substr(at)); special.bytes != 0) {
            quoted += special.escape;
            at += special.bytes - 1;
        } else if (c == '"' || c == '\\') {
            quoted += '\\';
            quoted += c;
        } else if (c == '\n') {
            quoted += "\\n";
        } else if (byte < 0x20U || byte == 0x7fU) {
            std::array<char, 8> escape{};
            std::snprintf(escape.data(), escape.size(), "\\x%02x", static_cast<unsigned>(byte));
            quoted += escape.data();
        } else {
            quoted += c;
        }
    }
    return quoted + '"';
}

/// Whether a literal block can hold the text without losing anything.
bool fits_literal(std::string_view text) {
    if (text.find('\n') == std::string_view::npos || text.front() == ' ' || text.front() == '\n' ||
        has_special(text)) {
        return false;
    }
    return std::all_of(text.begin(), text.end(), [](char c) {
        const auto byte = static_cast<unsigned char>(c);
        return c == '\n' || (byte >= 0x20U && byte != 0x7fU);
    });
}

/// "|-" and the lines, each `indent` in.
std::string literal(std::string_view text, unsigned indent) {
    std::size_t breaks = 0;
    while (breaks < text.size() && text[text.size() - 1 - breaks] == '\n') ++breaks;
    std::string written = breaks == 0 ? "|-\n" : breaks == 1 ? "|\n" : "|+\n";
    if (breaks != 0) text.remove_suffix(1);
    for (;;) {
        const auto end = text.find('\n');
        const std::string_view line = text.substr(0, end);
        if (!line.empty()) written += std::string(indent, ' ');
        written += line;
        written += '\n';
        if (end == std::string_view::npos) return written;
        text.remove_prefix(end + 1);
    }
}

/// A value behind "key:" or "-": on the same line when it is a scalar, else below it.
void write_value(std::string& out, const Value& node, unsigned indent);

void write_lines(std::string& out, const Value& node, unsigned indent) {
    const std::string margin(indent, ' ');
    for (const auto& [key, value] : node.entries) {
        out += margin + scalar_text(key) + ':';
        write_value(out, value, indent + (value.is_sequence() ? 0 : 2));
    }
    for (const Value& item : node.items) {
        out += margin + '-';
        if (!is_collection(item) || is_empty(item)) {
            write_value(out, item, indent + 2);
            continue;
        }
        std::string lines;
        write_lines(lines, item, indent + 2);
        lines.erase(0, indent + 2);  // its first line stands behind the dash
        out += ' ' + lines;
    }
}

void write_value(std::string& out, const Value& node, unsigned indent) {
    if (is_collection(node)) {
        if (is_empty(node)) {
            out += node.is_mapping() ? " {}\n" : " []\n";
            return;
        }
        out += '\n';
        write_lines(out, node, indent);
        return;
    }
    if (node.kind == Value::Kind::kString && fits_literal(node.scalar)) {
        out += ' ' + literal(node.scalar, std::max(indent, 2U));
        return;
    }
    const std::string text = scalar_text(node);
    out += (text.empty() ? "" : " ") + text + '\n';
}

}  // namespace

std::string scalar_text(const Value& scalar) {
    if (is_collection(scalar)) return scalar.is_mapping() ? "{}" : "[]";
    if (scalar.kind != Value::Kind::kString) return scalar.scalar;
    return is_plain(scalar.scalar) ? scalar.scalar : double_quoted(scalar.scalar);
}

std::string to_yaml(const Value& node, unsigned indent) {
    std::string out;
    if (is_collection(node) && !is_empty(node)) {
        write_lines(out, node, indent);
        return out;
    }
    write_value(out, node, indent);
    return std::string(indent, ' ') + (out.front() == ' ' ? out.substr(1) : out);
}

}  // namespace aliquot::document
