// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>

#include "document/text_check.h"
#include "document/yaml.h"

namespace aliquot::document {
namespace {

/// Where the lines of a literal block scalar stand in the outer text.
struct Origin {
    unsigned first_line = 0;  // of the outer text: line 1 of the scalar
    unsigned indent = 0;      // blanks that every line of the scalar lost
};

/// The line on which the `|` of a literal scalar stands; 0 for any other scalar. A tag or an anchor
/// may come before the indicator, on the same or an earlier line.
unsigned header_line(std::string_view outer, const Value& scalar) {
    unsigned line = scalar.mark.line;
    std::string_view rest = line_of(outer, line);
    if (scalar.mark.column == 0 || scalar.mark.column > rest.size()) return 0;
    rest.remove_prefix(scalar.mark.column - 1);
    constexpr unsigned kMostPropertyLines = 8;
    for (unsigned steps = 0; steps < kMostPropertyLines;) {
        const auto text = rest.find_first_not_of(" \t");
        if (text == std::string_view::npos) {
            rest = line_of(outer, ++line);
            ++steps;
            continue;
        }
        rest.remove_prefix(text);
        if (rest.front() == '|') return line;
        if (rest.front() != '!' && rest.front() != '&') return 0;
        const auto blank = rest.find_first_of(" \t");
        rest.remove_prefix(blank == std::string_view::npos ? rest.size() : blank);
    }
    return 0;
}

/// Holds the decoded lines against those below the header: what they lack is the indentation.
std::optional<Origin> find_origin(std::string_view outer, const Value& scalar) {
    if (!scalar.block) return std::nullopt;
    const unsigned header = header_line(outer, scalar);
    if (header == 0) return std::nullopt;
    std::string_view decoded = scalar.scalar;
    std::string_view below = outer;
    for (unsigned line = 0; line < header; ++line) {
        const auto end = below.find('\n');
        if (end == std::string_view::npos) return std::nullopt;
        below.remove_prefix(end + 1);
    }
    while (!decoded.empty()) {
        const std::string_view line = decoded.substr(0, decoded.find('\n'));
        std::string_view raw = below.substr(0, below.find('\n'));
        below.remove_prefix(std::min(below.size(), raw.size() + 1));
        decoded.remove_prefix(std::min(decoded.size(), line.size() + 1));
        if (!raw.empty() && raw.back() == '\r') raw.remove_suffix(1);
        if (line.empty()) continue;  // says nothing of the indentation
        if (raw.size() < line.size() || raw.substr(raw.size() - line.size()) != line) {
            return std::nullopt;
        }
        return Origin{header + 1, static_cast<unsigned>(raw.size() - line.size())};
    }
    return std::nullopt;
}

void move_mark(Mark& mark, const Value& scalar, const std::optional<Origin>& origin) {
    if (mark.line == 0) return;
    if (!origin) {
        mark = scalar.mark;
        return;
    }
    mark = {origin->first_line + mark.line - 1, origin->indent + mark.column};
}

void move_marks(Value& node, const Value& scalar, const std::optional<Origin>& origin) {
    move_mark(node.mark, scalar, origin);
    for (Value& item : node.items) move_marks(item, scalar, origin);
    for (auto& [key, value] : node.entries) {
        move_marks(key, scalar, origin);
        move_marks(value, scalar, origin);
    }
}

}  // namespace

Stream parse_embedded(std::string_view outer, const Value& scalar, const Limits& limits) {
    Stream stream = parse_yaml(scalar.scalar, limits);
    const auto origin = find_origin(outer, scalar);
    for (Value& document : stream.documents) move_marks(document, scalar, origin);
    for (SyntaxError& error : stream.errors) {
        const bool tab = error.message == tab_message(error.mark.line);
        move_mark(error.mark, scalar, origin);
        if (tab) error.message = tab_message(error.mark.line);
        // An error at the end of the scalar may point below the outer text's last line.
        const std::string_view line = line_of(outer, error.mark.line);
        if (line.data() == nullptr) error.mark = scalar.mark;
        if (!origin) error.message += " (in the text that stands here)";
    }
    return stream;
}

}  // namespace aliquot::document
