// SPDX-License-Identifier: Apache-2.0
#include "lint/ignore.h"

#include <algorithm>
#include <limits>

#include "lint/file.h"
#include "lint/words.h"

namespace aliquot::lint {
namespace {

constexpr unsigned kToTheEnd = std::numeric_limits<unsigned>::max();

bool is_rule_id(std::string_view word) {
    if (word == "all") return true;
    const auto digits = word.find_first_of("0123456789");
    return digits != std::string_view::npos && digits >= 2 && word.size() == digits + 3 &&
           word.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ") == digits;
}

std::size_t indent_of(std::string_view line) {
    return std::min(line.find_first_not_of(" \t"), line.size());
}

bool is_blank(std::string_view line) { return trim(line).empty(); }

unsigned last_line(const Value& node) {
    unsigned last = node.mark.line;
    if (node.block) {
        last += static_cast<unsigned>(std::count(node.scalar.begin(), node.scalar.end(), '\n'));
    }
    for (const Value& item : node.items) last = std::max(last, last_line(item));
    for (const auto& [key, value] : node.entries) {
        last = std::max({last, key.mark.line, last_line(value)});
    }
    return last;
}

/// The last line of what begins at `first`: all that is indented deeper, and a list at its height.
unsigned end_of_indented(const File& file, unsigned first) {
    const std::size_t height = indent_of(file.line(first));
    const auto count = static_cast<unsigned>(file.line_starts.size());
    unsigned last = first;
    for (unsigned line = first + 1; line <= count; ++line) {
        const std::string_view text = file.line(line);
        if (is_blank(text)) continue;
        if (indent_of(text) <= height) break;
        last = line;
    }
    return last;
}

/// The block whose fence stands on `line`, or the paragraph that begins there.
unsigned end_of_block(const File& file, unsigned line) {
    for (const Block& block : file.blocks) {
        if (block.fence_line == line) return block.line + block.lines();
    }
    unsigned last = line;
    while (last < file.line_starts.size() && !is_blank(file.line(last + 1))) ++last;
    return last;
}

unsigned next_line_with_text(const File& file, unsigned line) {
    const auto count = static_cast<unsigned>(file.line_starts.size());
    do {
        ++line;
    } while (line <= count && is_blank(file.line(line)));
    return line;
}

}  // namespace

Ignores::Ignores(const File& file) {
    read_comments(file);
    read_annotations(file);
}

void Ignores::add(std::string_view ids, unsigned first, unsigned last) {
    while (true) {
        const auto start = ids.find_first_not_of(" \t,;");
        if (start == std::string_view::npos) return;
        ids.remove_prefix(start);
        const auto end = std::min(ids.find_first_of(" \t,;:\"'"), ids.size());
        const std::string_view word = ids.substr(0, end);
        if (!is_rule_id(word)) return;  // the reason begins
        spans_.push_back({std::string(word), first, last});
        if (end < ids.size() && ids[end] == ':') return;
        ids.remove_prefix(end);
    }
}

void Ignores::read_comments(const File& file) {
    constexpr std::string_view kWord = "aliquot:ignore";
    constexpr std::string_view kFile = "-file";
    for (std::size_t at = 0; (at = file.text.find(kWord, at)) != std::string::npos;) {
        const unsigned line = file.mark(at).line;
        const std::string_view text = file.line(line);
        const std::size_t column = at - file.line_starts[line - 1];
        const std::string_view before = trim(text.substr(0, column));
        std::string_view rest = text.substr(std::min(column + kWord.size(), text.size()));
        at += kWord.size();
        if (rest.starts_with(kFile)) {
            add(rest.substr(kFile.size()), 1, kToTheEnd);
        } else if (before == "<!--") {
            const unsigned next = next_line_with_text(file, line);
            add(rest, next, end_of_block(file, next));
        } else if (before == "#" || before == "//") {
            const unsigned next = next_line_with_text(file, line);
            add(rest, next, end_of_indented(file, next));
        } else {
            add(rest, line, line);
        }
    }
}

void Ignores::read_annotations(const File& file) {
    for (const Object& object : file.objects) {
        const Value* text = at_path(*object.node, "metadata.annotations[lint.aliquot/ignore]");
        if (text == nullptr || text->is_mapping() || text->is_sequence()) continue;
        for (const std::string_view part : split(text->scalar, ';')) {
            add(part, object.mark().line, last_line(*object.node));
        }
    }
}

bool Ignores::cover(const findings::Finding& finding) const {
    return std::any_of(spans_.begin(), spans_.end(), [&finding](const Span& span) {
        return (span.rule == "all" || span.rule == finding.rule) && finding.line >= span.first &&
               finding.line <= span.last;
    });
}

}  // namespace aliquot::lint
