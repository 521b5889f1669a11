// SPDX-License-Identifier: Apache-2.0
#include "top/layout.h"

#include <algorithm>

namespace aliquot::top {
namespace {

constexpr std::size_t kHistoryWidth = 20;
constexpr std::size_t kLeastHistory = 8;

bool appears(const Column& column, const Fit& wanted) {
    switch (column.shown) {
        case Shown::kAlways:
        case Shown::kTable:
            return true;
        case Shown::kWide:
            return wanted.wide;
        case Shown::kNodes:
            return wanted.several_nodes || wanted.wide;
        case Shown::kDynamic:
            return wanted.live;
        case Shown::kCsv:
            break;
    }
    return false;
}

std::string indent(unsigned depth) { return std::string(std::size_t{2} * depth, ' '); }

std::size_t natural_width(const Table& table, std::size_t place) {
    const Column& column = table.columns[place];
    if (column.shown == Shown::kDynamic) return kHistoryWidth;
    std::size_t width = column.title.size();
    for (const Row& row : table.rows) {
        const std::size_t deeper = place == 0 ? indent(row.depth).size() : 0;
        width = std::max({width, row.cells[place].text.size() + deeper, std::size_t{1}});
    }
    return width;
}

std::size_t sum_of(const Columns& columns) {
    std::size_t sum = 0;
    for (const std::size_t width : columns.widths) sum += width + columns.gap;
    return sum == 0 ? 0 : sum - columns.gap;
}

/// Takes `excess` from elastic columns, widest first; returns what could not be taken.
std::size_t squeeze(const Table& table, Columns& columns, std::size_t excess) {
    while (excess > 0) {
        std::size_t widest = columns.places.size();
        for (std::size_t i = 0; i < columns.places.size(); ++i) {
            const Column& column = table.columns[columns.places[i]];
            if (!column.elastic || columns.widths[i] <= column.least) continue;
            if (widest == columns.places.size() || columns.widths[i] > columns.widths[widest])
                widest = i;
        }
        if (widest == columns.places.size()) break;
        --columns.widths[widest];
        --excess;
    }
    return excess;
}

void remove(Columns& columns, std::size_t i) {
    columns.places.erase(columns.places.begin() + static_cast<std::ptrdiff_t>(i));
    columns.widths.erase(columns.widths.begin() + static_cast<std::ptrdiff_t>(i));
}

/// Histories are an ornament: they take what the others leave.
void shrink_histories(const Table& table, Columns& columns, std::size_t width) {
    for (std::size_t i = columns.places.size(); i-- > 0;) {
        const std::size_t sum = sum_of(columns);
        if (sum <= width) return;
        if (table.columns[columns.places[i]].shown != Shown::kDynamic) continue;
        const std::size_t excess = sum - width;
        if (columns.widths[i] >= excess + kLeastHistory) {
            columns.widths[i] -= excess;
        } else {
            remove(columns, i);
        }
    }
}

/// The place in `columns` of the one that leaves first; none: all must stay.
std::optional<std::size_t> least_needed(const Table& table, const Columns& columns) {
    std::optional<std::size_t> least;
    unsigned priority = 0;
    for (std::size_t i = 0; i < columns.places.size(); ++i) {
        const unsigned own = table.columns[columns.places[i]].priority;
        if (own <= priority) continue;
        priority = own;
        least = i;
    }
    return least;
}

std::string padded(const std::string& text, std::size_t width, bool right) {
    const std::size_t own = width_of(text);
    const std::string blanks(width > own ? width - own : 0, ' ');
    return right ? blanks + text : text + blanks;
}

std::string_view code_of(Tone tone) {
    switch (tone) {
        case Tone::kPlain:
            return "";
        case Tone::kDim:
            return "\x1b[2m";
        case Tone::kGood:
            return "\x1b[32m";
        case Tone::kWarn:
            return "\x1b[33m";
        case Tone::kBad:
            return "\x1b[31m";
        case Tone::kTitle:
            return "\x1b[1m";
        case Tone::kCursor:
            return "\x1b[7m";
    }
    return "";
}

}  // namespace

std::string to_text(const Line& line, Colour colour) {
    std::string text;
    for (const Span& span : line) {
        const std::string_view code = colour == Colour::kAnsi ? code_of(span.tone) : "";
        text += code;
        text += span.text;
        if (!code.empty()) text += "\x1b[0m";
    }
    return text;
}

Line cut(Line line, std::size_t width) {
    std::size_t left = width;
    for (Span& span : line) {
        const std::size_t own = width_of(span.text);
        if (own <= left) {
            left -= own;
            continue;
        }
        std::size_t bytes = 0;
        for (std::size_t columns = 0; bytes < span.text.size(); ++bytes) {
            const bool begins = (static_cast<unsigned char>(span.text[bytes]) & 0xc0U) != 0x80U;
            if (begins && columns++ == left) break;
        }
        span.text.resize(bytes);
        left = 0;
    }
    return line;
}

std::size_t width_of(const Line& line) {
    std::size_t width = 0;
    for (const Span& span : line) width += width_of(span.text);
    return width;
}

Columns fit(const Table& table, const Fit& wanted) {
    Columns columns;
    for (std::size_t place = 0; place < table.columns.size(); ++place) {
        if (!appears(table.columns[place], wanted)) continue;
        columns.places.push_back(place);
        columns.widths.push_back(natural_width(table, place));
    }
    columns.gap = 2;
    if (wanted.width == 0 || sum_of(columns) <= wanted.width) return columns;
    columns.gap = 1;
    shrink_histories(table, columns, wanted.width);
    for (;;) {
        const std::size_t sum = sum_of(columns);
        if (sum <= wanted.width) return columns;
        Columns squeezed = columns;
        if (squeeze(table, squeezed, sum - wanted.width) == 0) return squeezed;
        const auto leaves = least_needed(table, columns);
        if (!leaves) return squeezed;  // what still does not fit is cut at the right
        remove(columns, *leaves);
    }
}

Line heading(const Table& table, const Columns& columns, const Style& /*style*/) {
    std::string text;
    for (std::size_t i = 0; i < columns.places.size(); ++i) {
        const Column& column = table.columns[columns.places[i]];
        if (i > 0) text.append(columns.gap, ' ');
        text += padded(std::string(column.title).substr(0, columns.widths[i]), columns.widths[i],
                       column.right);
    }
    while (!text.empty() && text.back() == ' ') text.pop_back();
    return {{text, Tone::kTitle}};
}

Line row_line(const Table& table, const Row& row, const Columns& columns, const Style& style,
              const History& history) {
    Line line;
    for (std::size_t i = 0; i < columns.places.size(); ++i) {
        const std::size_t place = columns.places[i];
        const Column& column = table.columns[place];
        const std::size_t width = columns.widths[i];
        std::string text;
        if (column.shown == Shown::kDynamic) {
            text = sparkline(history.of(row.key), width, style.charset);
        } else {
            const std::string deeper = place == 0 ? indent(row.depth) : "";
            const std::string& own = row.cells[place].text;
            const std::size_t room = width > deeper.size() ? width - deeper.size() : 0;
            text = deeper + (column.elastic ? cut_middle(own, room, style.charset)
                                            : cut_end(own, room, style.charset));
            if (own.empty() && place != 0) text = "-";
        }
        if (i > 0) line.push_back({std::string(columns.gap, ' ')});
        line.push_back({padded(text, width, column.right), row.cells[place].tone});
    }
    // No blanks at the end: what is printed is compared and copied.
    while (!line.empty()) {
        std::string& last = line.back().text;
        while (!last.empty() && last.back() == ' ') last.pop_back();
        if (!last.empty()) break;
        line.pop_back();
    }
    return line;
}

}  // namespace aliquot::top
