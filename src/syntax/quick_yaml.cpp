// SPDX-License-Identifier: Apache-2.0
#include "syntax/quick_yaml.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "document/scalar.h"

namespace aliquot::syntax {
namespace {

using document::Mark;
using document::Value;

constexpr std::size_t kMostNodes = 400'000;
constexpr int kDeepestYaml = 48;

struct Line {
    std::size_t begin = 0;
    std::size_t end = 0;     // without the line break
    std::size_t indent = 0;  // blanks
    bool empty = false;      // nothing, or a comment
};

class Reader {
public:
    explicit Reader(std::string_view text) : text_(text) {}

    std::optional<Value> read() {
        split();
        if (failed_) return std::nullopt;
        skip_empty();
        if (at_ >= lines_.size()) return std::nullopt;
        Value root = read_node(lines_[at_].indent, 0);
        skip_empty();
        if (failed_ || at_ < lines_.size()) return std::nullopt;
        return root;
    }

private:
    void split();
    void skip_empty() {
        while (at_ < lines_.size() && lines_[at_].empty) ++at_;
    }
    Value fail() {
        failed_ = true;
        return {};
    }
    [[nodiscard]] std::string_view line_text(std::size_t index) const {
        return text_.substr(lines_[index].begin, lines_[index].end - lines_[index].begin);
    }
    [[nodiscard]] Mark mark(std::size_t column) const {
        return {static_cast<unsigned>(at_) + 1, static_cast<unsigned>(column) + 1};
    }
    [[nodiscard]] static bool is_item(std::string_view line, std::size_t column) {
        return column < line.size() && line[column] == '-' &&
               (column + 1 == line.size() || line[column + 1] == ' ');
    }
    static std::size_t end_of_plain(std::string_view line, std::size_t column);
    static std::size_t colon_of_key(std::string_view line, std::size_t column);
    static bool only_comment(std::string_view line, std::size_t column);

    Value read_node(std::size_t column, int depth);
    Value read_mapping(std::size_t column, int depth);
    Value read_sequence(std::size_t column, int depth);
    Value read_value(std::size_t column, std::size_t parent, int depth);
    Value read_scalar(std::string_view line, std::size_t& column, std::string_view stops);
    Value read_quoted(std::string_view line, std::size_t& column);
    Value read_flow(std::string_view line, std::size_t& column, int depth);
    Value read_literal(std::string_view line, std::size_t column, std::size_t parent);
    Value make_plain(std::string_view words, std::size_t column);

    std::string_view text_;
    std::vector<Line> lines_;
    std::size_t at_ = 0;
    std::size_t nodes_ = 0;
    bool failed_ = false;
};

void Reader::split() {
    for (std::size_t at = 0; at < text_.size();) {
        const std::size_t end = std::min(text_.find('\n', at), text_.size());
        Line line{at, end, 0, false};
        while (line.begin + line.indent < end && text_[line.begin + line.indent] == ' ')
            ++line.indent;
        const std::size_t first = line.begin + line.indent;
        line.empty = first == end || text_[first] == '#';
        if (!line.empty && (text_[first] == '\t' || text_[first] == '%')) failed_ = true;
        if (line.indent == 0 && !line.empty) {
            const std::string_view mark = text_.substr(at, 3);
            if (mark == "..." || mark == "---") failed_ = true;
        }
        lines_.push_back(line);
        at = end + 1;
    }
}

bool Reader::only_comment(std::string_view line, std::size_t column) {
    column = line.find_first_not_of(' ', column);
    return column == std::string_view::npos || line[column] == '#';
}

std::size_t Reader::end_of_plain(std::string_view line, std::size_t column) {
    std::size_t end = std::min(line.find(" #", column), line.size());
    while (end > column && line[end - 1] == ' ') --end;
    return end;
}

/// Where the ':' of a plain key stands; npos: this is no plain key.
std::size_t Reader::colon_of_key(std::string_view line, std::size_t column) {
    constexpr std::string_view kNoKey = "[]{}#&*!|>%@`\"',?";
    if (column >= line.size() || kNoKey.find(line[column]) != std::string_view::npos)
        return std::string_view::npos;
    if (is_item(line, column)) return std::string_view::npos;
    for (std::size_t i = column; i < line.size(); ++i) {
        if (line[i] == ':' && (i + 1 == line.size() || line[i + 1] == ' ')) return i;
        if (line[i] == '#' && line[i - (i > 0 ? 1 : 0)] == ' ') break;
    }
    return std::string_view::npos;
}

Value Reader::make_plain(std::string_view words, std::size_t column) {
    Value node;
    node.mark = mark(column);
    node.scalar = std::string(words);
    node.kind = document::resolve_plain(words);
    return node;
}

/// A node whose first byte stands in the current line at `column`.
Value Reader::read_node(std::size_t column, int depth) {
    if (failed_ || depth > kDeepestYaml || ++nodes_ > kMostNodes) return fail();
    const std::string_view line = line_text(at_);
    if (is_item(line, column)) return read_sequence(column, depth);
    if (colon_of_key(line, column) != std::string_view::npos || line[column] == '"' ||
        line[column] == '\'') {
        return read_mapping(column, depth);
    }
    return fail();
}

Value Reader::read_mapping(std::size_t column, int depth) {
    Value map;
    map.kind = Value::Kind::kMapping;
    map.mark = mark(column);
    bool first = true;
    while (!failed_) {
        if (!first) {
            skip_empty();
            if (at_ >= lines_.size() || lines_[at_].indent < column) break;
            if (lines_[at_].indent > column) return fail();
        }
        const std::string_view line = line_text(at_);
        if (!first && is_item(line, column)) break;
        first = false;
        Value key;
        std::size_t colon = 0;
        if (line[column] == '"' || line[column] == '\'') {
            std::size_t end = column;
            key = read_quoted(line, end);
            if (failed_ || end >= line.size() || line[end] != ':') return fail();
            colon = end;
        } else {
            colon = colon_of_key(line, column);
            if (colon == std::string_view::npos) return fail();
            std::size_t end = colon;
            while (end > column && line[end - 1] == ' ') --end;
            key = make_plain(line.substr(column, end - column), column);
            if (key.scalar == "<<") return fail();
        }
        if (colon + 1 < line.size() && line[colon + 1] != ' ') return fail();
        const std::size_t value = std::min(line.find_first_not_of(' ', colon + 1), line.size());
        const Mark key_mark = key.mark;
        Value node;
        if (only_comment(line, value)) {
            ++at_;
            skip_empty();
            const bool below = at_ < lines_.size() && lines_[at_].indent > column;
            const bool list = at_ < lines_.size() && lines_[at_].indent == column &&
                              is_item(line_text(at_), column);
            if (below || list) {
                node = read_node(lines_[at_].indent, depth + 1);
            } else {
                node.mark = key_mark;
            }
        } else {
            node = read_value(value, column, depth);
        }
        if (failed_) return {};
        map.entries.emplace_back(std::move(key), std::move(node));
    }
    return map;
}

Value Reader::read_sequence(std::size_t column, int depth) {
    Value list;
    list.kind = Value::Kind::kSequence;
    list.mark = mark(column);
    bool first = true;
    while (!failed_) {
        if (!first) {
            skip_empty();
            if (at_ >= lines_.size() || lines_[at_].indent < column) break;
            if (lines_[at_].indent > column) return fail();
            if (!is_item(line_text(at_), column)) break;
        }
        first = false;
        const std::string_view line = line_text(at_);
        const std::size_t value = std::min(line.find_first_not_of(' ', column + 1), line.size());
        if (only_comment(line, value)) {
            ++at_;
            skip_empty();
            if (at_ >= lines_.size() || lines_[at_].indent <= column) return fail();
            list.items.push_back(read_node(lines_[at_].indent, depth + 1));
        } else if (is_item(line, value) || colon_of_key(line, value) != std::string_view::npos) {
            list.items.push_back(read_node(value, depth + 1));
        } else {
            list.items.push_back(read_value(value, column, depth));
        }
    }
    return failed_ ? Value{} : list;
}

/// A value on the line of its key or dash. Leaves at_ behind it.
Value Reader::read_value(std::size_t column, std::size_t parent, int depth) {
    if (++nodes_ > kMostNodes) return fail();
    const std::string_view line = line_text(at_);
    const char c = line[column];
    if (c == '|') return read_literal(line, column, parent);
    Value node;
    std::size_t end = column;
    if (c == '"' || c == '\'') {
        node = read_quoted(line, end);
    } else if (c == '{' || c == '[') {
        node = read_flow(line, end, depth + 1);
    } else {
        constexpr std::string_view kNoPlain = "&*!>%@`,]}?#";
        if (kNoPlain.find(c) != std::string_view::npos) return fail();
        if (c == '-' && column + 1 < line.size() && line[column + 1] == ' ') return fail();
        end = end_of_plain(line, column);
        const std::string_view words = line.substr(column, end - column);
        if (words.empty() || words.find(": ") != std::string_view::npos || words.back() == ':' ||
            words.find('\t') != std::string_view::npos) {
            return fail();
        }
        node = make_plain(words, column);
    }
    if (failed_ || !only_comment(line, end)) return fail();
    if (end < line.size() && line[end] == '#') return fail();  // no blank before it
    ++at_;
    skip_empty();
    if (at_ < lines_.size() && lines_[at_].indent > parent) return fail();  // it goes on there
    return node;
}

Value Reader::read_quoted(std::string_view line, std::size_t& column) {
    Value node;
    node.mark = mark(column);
    node.kind = Value::Kind::kString;
    node.quoted = true;
    const char quote = line[column];
    for (std::size_t i = column + 1; i < line.size(); ++i) {
        const char c = line[i];
        if (c == quote && quote == '\'' && i + 1 < line.size() && line[i + 1] == '\'') {
            node.scalar += '\'';
            ++i;
        } else if (c == quote) {
            column = i + 1;
            return node;
        } else if (c == '\\' && quote == '"') {
            if (++i >= line.size()) return fail();
            const auto which = std::string_view("n\"\\t/").find(line[i]);
            if (which == std::string_view::npos) return fail();
            node.scalar += "\n\"\\\t/"[which];
        } else {
            node.scalar += c;
        }
    }
    return fail();  // it ends on another line
}

Value Reader::read_scalar(std::string_view line, std::size_t& column, std::string_view stops) {
    if (column >= line.size()) return fail();
    if (line[column] == '"' || line[column] == '\'') return read_quoted(line, column);
    constexpr std::string_view kNoPlain = "&*!|>%@`,]}?#-:";
    if (kNoPlain.find(line[column]) != std::string_view::npos) return fail();
    const std::size_t begin = column;
    while (column < line.size() && stops.find(line[column]) == std::string_view::npos) {
        if (line[column] == '#' || line[column] == '\t') return fail();
        if (line[column] == ':' && (column + 1 == line.size() || line[column + 1] == ' ')) break;
        ++column;
    }
    std::size_t end = column;
    while (end > begin && line[end - 1] == ' ') --end;
    if (end == begin) return fail();
    return make_plain(line.substr(begin, end - begin), begin);
}

/// {a: b, c: [d, "e"]} of one line.
Value Reader::read_flow(std::string_view line, std::size_t& column, int depth) {
    constexpr std::string_view kStops = ",[]{}";
    if (depth > kDeepestYaml || ++nodes_ > kMostNodes) return fail();
    const bool is_map = line[column] == '{';
    const char close = is_map ? '}' : ']';
    Value node;
    node.kind = is_map ? Value::Kind::kMapping : Value::Kind::kSequence;
    node.mark = mark(column);
    ++column;
    const auto skip = [&line, &column] {
        column = std::min(line.find_first_not_of(' ', column), line.size());
    };
    const auto element = [this, &line, &column, depth, kStops] {
        const bool flow = column < line.size() && (line[column] == '{' || line[column] == '[');
        return flow ? read_flow(line, column, depth + 1) : read_scalar(line, column, kStops);
    };
    for (skip(); !failed_; skip()) {
        if (column >= line.size()) return fail();
        if (line[column] == close) {
            ++column;
            return node;
        }
        Value first = is_map ? read_scalar(line, column, kStops) : element();
        skip();
        if (failed_ || column >= line.size()) return fail();
        if (is_map) {
            if (line[column] != ':' || column + 1 >= line.size()) return fail();
            ++column;
            if (line[column] != ' ') return fail();
            skip();
            Value value = element();
            skip();
            if (failed_) return {};
            node.entries.emplace_back(std::move(first), std::move(value));
        } else {
            node.items.push_back(std::move(first));
        }
        if (column >= line.size()) return fail();
        if (line[column] == ',') {
            ++column;
        } else if (line[column] != close) {
            return fail();
        }
    }
    return {};
}

/// `|`, `|-`, `|+` and the lines below.
Value Reader::read_literal(std::string_view line, std::size_t column, std::size_t parent) {
    Value node;
    node.mark = mark(column);
    node.kind = Value::Kind::kString;
    node.quoted = node.block = true;
    char chomp = ' ';
    std::size_t end = column + 1;
    if (end < line.size() && (line[end] == '-' || line[end] == '+')) chomp = line[end++];
    if (!only_comment(line, end) || (end < line.size() && line[end] == '#')) return fail();
    ++at_;
    std::size_t indent = 0;  // of the text; 0: not known yet
    std::size_t blanks = 0;  // empty lines that wait
    for (; at_ < lines_.size(); ++at_) {
        const std::string_view raw = line_text(at_);
        const std::size_t lead = lines_[at_].indent;
        const bool blank = lead == raw.size();
        if (blank) {
            if (indent == 0 ? lead > 0 : lead > indent) return fail();  // its blanks would count
            ++blanks;
            continue;
        }
        if (indent == 0) {
            if (lead <= parent) break;
            indent = lead;
        }
        if (lead < indent) {
            if (lead > parent) return fail();
            break;
        }
        node.scalar.append(blanks, '\n');
        blanks = 0;
        node.scalar += raw.substr(indent);
        node.scalar += '\n';
    }
    if (indent == 0) return fail();
    const bool at_end = at_ >= lines_.size();
    if (chomp == '+') node.scalar.append(blanks, '\n');
    if (chomp == '-' && !node.scalar.empty()) node.scalar.pop_back();
    // The last line of the text without a line break keeps none.
    if (at_end && chomp != '-' && blanks == 0 && !text_.empty() && text_.back() != '\n')
        return fail();
    return node;
}

}  // namespace

std::optional<document::Value> read_quick(std::string_view text) {
    const bool is_plain = text.find('\t') == text.npos && !text.starts_with("\xEF\xBB\xBF");
    return is_plain ? Reader(text).read() : std::nullopt;
}

}  // namespace aliquot::syntax
