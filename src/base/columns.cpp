// SPDX-License-Identifier: Apache-2.0
#include "base/columns.h"

#include <algorithm>

namespace aliquot {
std::size_t width_of(std::string_view text) {
    return static_cast<std::size_t>(std::ranges::count_if(
        text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

std::string in_columns(const std::vector<Row>& rows, ColumnStyle style) {
    std::vector<std::size_t> widths;
    for (const Row& row : rows) {
        widths.resize(std::max(widths.size(), row.size()));
        for (std::size_t i = 0; i < row.size(); ++i) {
            widths[i] = std::max(widths[i], width_of(row[i]));
        }
    }
    std::string text;
    for (const Row& row : rows) {
        std::string line(style.indent, ' ');
        for (std::size_t i = 0; i < row.size(); ++i) {
            const std::string room(widths[i] - width_of(row[i]), ' ');
            if (i > 0) line.append(style.gap, ' ');
            line += style.right && i > 0 ? room + row[i] : row[i] + room;
        }
        text += line.erase(line.find_last_not_of(' ') + 1) + '\n';
    }
    return text;
}

}  // namespace aliquot
