// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace aliquot {

/// What a text shows in a terminal: a character of UTF-8 counts as one column.
std::size_t width_of(std::string_view text);

/// One line of a table that is printed without rulers.
using Row = std::vector<std::string>;

struct ColumnStyle {
    std::size_t indent = 0;  // blanks before every line
    std::size_t gap = 2;     // blanks between columns
    bool right = false;      // all but the first column are aligned to the right
};

/// The rows as lines, columns in line by their width, without blanks at the ends. Rows may be of different length.
std::string in_columns(const std::vector<Row>& rows, ColumnStyle style = {});

}  // namespace aliquot
