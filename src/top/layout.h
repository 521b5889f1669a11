// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/colour.h"
#include "top/history.h"
#include "top/table.h"
#include "top/text.h"

namespace aliquot::top {

/// A piece of a line in one look.
struct Span {
    std::string text;
    Tone tone = Tone::kPlain;
};
using Line = std::vector<Span>;

/// The line's text, and with kAnsi what a terminal needs to show its tones (SGR codes).
std::string to_text(const Line& line, Colour colour);
/// Cut after `width` columns.
Line cut(Line line, std::size_t width);
std::size_t width_of(const Line& line);

struct Style {
    Charset charset = Charset::kAscii;
    Colour colour = Colour::kNever;
};

/// What of a table is wanted where.
struct Fit {
    std::size_t width = 0;  // columns; 0: no limit
    bool wide = false;      // with what only -o wide shows
    bool several_nodes = false;
    bool live = false;  // with what only a live screen shows
};

/// Puts the columns in line. Where the width does not suffice, histories shrink, names are cut in
/// the middle, then columns leave by their priority.
struct Columns {
    std::vector<std::size_t> places;  // in Table::columns
    std::vector<std::size_t> widths;
    std::size_t gap = 1;  // blanks between them
};
Columns fit(const Table& table, const Fit& wanted);

Line heading(const Table& table, const Columns& columns, const Style& style);
Line row_line(const Table& table, const Row& row, const Columns& columns, const Style& style,
              const History& history);

}  // namespace aliquot::top
