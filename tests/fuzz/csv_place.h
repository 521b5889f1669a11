// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <string>
#include <string_view>

namespace aliquot {

inline void expect(bool holds) {
    if (!holds) std::abort();
}

/// "f:LINE:COLUMN: ..." is a place of the text (or just behind a line), and the message is one
/// printable line.
inline void expect_place_inside(const std::string& message, std::string_view text) {
    for (const char c : message) {
        const auto byte = static_cast<unsigned char>(c);
        expect(byte >= 0x20U && byte != 0x7FU);
    }
    expect(message.starts_with("f:"));
    char* end = nullptr;
    const unsigned long line = std::strtoul(message.c_str() + 2, &end, 10);
    expect(line >= 1 && *end == ':');
    const unsigned long column = std::strtoul(end + 1, &end, 10);
    expect(column >= 1 && std::string_view(end).starts_with(": "));
    for (unsigned long at = 1; at < line; ++at) {
        const std::size_t next = text.find('\n');
        expect(next != std::string_view::npos);
        text.remove_prefix(next + 1);
    }
    expect(column <= text.substr(0, text.find('\n')).size() + 1);
}

}  // namespace aliquot
