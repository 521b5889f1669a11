// SPDX-License-Identifier: Apache-2.0
#include "base/json_text.h"

#include "base/text.h"

namespace aliquot {
namespace {

constexpr bool is_plain(char byte) {
    return byte >= ' ' && byte < 0x7F && byte != '"' && byte != '\\';
}

void append_escaped(std::string& out, char byte) {
    constexpr std::string_view kHex = "0123456789abcdef";
    if (byte == '"' || byte == '\\') {
        out += {'\\', byte};
    } else if (byte == '\n') {
        out += "\\n";
    } else if (byte == '\t') {
        out += "\\t";
    } else {
        const auto code = static_cast<unsigned char>(byte);
        out += "\\u00";
        out += {kHex[code >> 4U], kHex[code & 15U]};
    }
}

}  // namespace

void append_json_quoted(std::string& out, std::string_view text) {
    out += '"';
    while (!text.empty()) {
        std::size_t plain = 0;
        while (plain < text.size() && is_plain(text[plain])) ++plain;
        out += text.substr(0, plain);
        text.remove_prefix(plain);
        if (text.empty()) break;
        const std::size_t length = utf8_length(text);
        if (length == 0) {
            out += "\xef\xbf\xbd";
        } else if (length == 1) {
            append_escaped(out, text.front());
        } else {
            out += text.substr(0, length);
        }
        text.remove_prefix(length == 0 ? 1 : length);
    }
    out += '"';
}

std::string json_quoted(std::string_view text) {
    std::string out;
    out.reserve(text.size() + 2);
    append_json_quoted(out, text);
    return out;
}

std::string json_pointer_step(std::string_view key) {
    std::string step;
    for (const char c : key) {
        if (c == '~' || c == '/') {
            step += c == '~' ? "~0" : "~1";
        } else {
            step += c;
        }
    }
    return step;
}

}  // namespace aliquot
