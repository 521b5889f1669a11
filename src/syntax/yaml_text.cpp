// SPDX-License-Identifier: Apache-2.0
#include "syntax/yaml_text.h"

#include <algorithm>
#include <array>

#include "document/yaml.h"
#include "syntax/quick_yaml.h"
#include "syntax/words.h"

namespace aliquot::syntax {
namespace {

constexpr document::Limits kLimits{10U << 20U, 400'000, 64};

struct Line {
    std::size_t begin = 0;
    std::size_t end = 0;  // without the line break
};

std::vector<Line> lines_of(std::string_view text) {
    std::vector<Line> lines;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        lines.push_back({at, end});
        at = end + 1;
    }
    return lines;
}

/// Makes a comment of a line, in place.
void blank_out(std::string& text, const Line& line) {
    std::fill(text.begin() + static_cast<std::ptrdiff_t>(line.begin),
              text.begin() + static_cast<std::ptrdiff_t>(line.end), ' ');
}

/// `# Your container configuration...`, `# rest of the spec ...`.
bool leaves_out(std::string_view comment) {
    if (!comment.ends_with("...") && !comment.ends_with("\xe2\x80\xa6")) return false;
    while (!comment.empty() && (comment.front() == '#' || comment.front() == ' ')) {
        comment.remove_prefix(1);
    }
    const std::string word = lower(comment.substr(0, comment.find(' ')));
    constexpr std::array<std::string_view, 8> kFirst{"your",      "rest", "other",    "more",
                                                     "remaining", "same", "existing", "additional"};
    return std::find(kFirst.begin(), kFirst.end(), word) != kFirst.end();
}

/// `...` or `# ...`, by which manuals leave something out.
bool is_elision(std::string_view line) {
    line = trim(line);
    if (line.starts_with("#") && leaves_out(line)) return true;
    while (!line.empty() && (line.front() == '#' || line.front() == '-' || line.front() == ' ' ||
                             line.front() == '<' || line.front() == '[')) {
        line.remove_prefix(1);
    }
    while (!line.empty() && (line.back() == '>' || line.back() == ']')) line.remove_suffix(1);
    if (line == "\xe2\x80\xa6") return true;
    return line.starts_with("...") && (line.size() == 3 || line[3] == ' ' || line[3] == '.' ||
                                       (line[3] >= 'a' && line[3] <= 'z'));
}

/// Whether the byte at `at` stands inside quotes of its line that `{{ }}` does not close.
bool is_quoted(std::string_view line, std::size_t at, std::size_t end) {
    char open = 0;
    for (std::size_t i = 0; i < at; ++i) {
        if (open == 0 && (line[i] == '"' || line[i] == '\'')) {
            open = line[i];
        } else if (line[i] == open) {
            open = 0;
        }
    }
    return open != 0 && line.substr(at, end - at).find(open) == std::string_view::npos;
}

void replace_inline(CleanText& clean, const Line& line) {
    std::string_view view = std::string_view(clean.text).substr(line.begin, line.end - line.begin);
    for (std::size_t at = 0; (at = view.find("{{", at)) != std::string_view::npos;) {
        const std::size_t close = view.find("}}", at);
        std::size_t end = close == std::string_view::npos ? view.size() : close + 2;
        while (end < view.size() && view[end] == '}') ++end;
        if (!is_quoted(view, at, end)) {
            std::fill(clean.text.begin() + static_cast<std::ptrdiff_t>(line.begin + at),
                      clean.text.begin() + static_cast<std::ptrdiff_t>(line.begin + end), '_');
        }
        clean.templated = true;
        at = end;
    }
}

/// Moves every mark by `lines` and from the block into the file.
void move_marks(Value& node, const Block& block, unsigned lines) {
    if (node.mark.line != 0)
        node.mark = block.place(Mark{node.mark.line + lines, node.mark.column});
    for (Value& item : node.items) move_marks(item, block, lines);
    for (auto& [key, value] : node.entries) {
        move_marks(key, block, lines);
        move_marks(value, block, lines);
    }
}

bool is_separator(std::string_view line) {
    return line.starts_with("---") &&
           (line.size() == 3 || line[3] == ' ' || line[3] == '\t' || line[3] == '\r');
}

bool is_empty(const Value& node) { return node.kind == Value::Kind::kNull; }

/// Reads one document, leaving out lines that cannot be read.
YamlDocument read_one(std::string text) {
    constexpr int kMostTries = 24;
    constexpr std::size_t kMostWork = 1U << 20U;  // bytes read again
    const int tries = static_cast<int>(
        std::min<std::size_t>(kMostTries, 2 + kMostWork / std::max<std::size_t>(text.size(), 1)));
    const std::vector<Line> lines = lines_of(text);
    YamlDocument result;
    if (auto quick = read_quick(text)) {
        result.node = *std::move(quick);
        return result;
    }
    for (int i = 0; i < tries; ++i) {
        document::Stream stream = document::parse_yaml(text, kLimits);
        if (stream.errors.empty()) {
            result.node = std::move(stream.documents.front());
            return result;
        }
        const document::SyntaxError& error = stream.errors.front();
        if (!result.broken) {
            result.error = error.mark;
            result.message = error.message;
        }
        result.broken = true;
        // The line itself, or when nothing is left of it the nearest one above.
        std::size_t line = std::min<std::size_t>(error.mark.line, lines.size());
        while (line > 0 &&
               trim(std::string_view(text).substr(lines[line - 1].begin,
                                                  lines[line - 1].end - lines[line - 1].begin))
                   .empty()) {
            --line;
        }
        if (line == 0) break;
        blank_out(text, lines[line - 1]);
    }
    return result;
}

/// JSON with quotes in a string that nobody escaped ("expr": "up{job="x"}"): others in their place;
/// empty: there are none.
std::string repaired_quotes(const std::string& text) {
    std::string repaired;
    for (const Line& line : lines_of(text)) {
        const std::string_view whole =
            std::string_view(text).substr(line.begin, line.end - line.begin);
        std::string_view words = trim(whole);
        if (!words.empty() && words.back() == ',') words.remove_suffix(1);
        const auto value = words.find("\": \"");
        if (!words.starts_with("\"") || words.size() < 2 || words.back() != '"' ||
            value == std::string_view::npos || words.find("\", \"") != std::string_view::npos) {
            continue;
        }
        const auto first = static_cast<std::size_t>(words.data() - text.data()) + value + 4;
        const auto last = static_cast<std::size_t>(words.data() - text.data()) + words.size() - 1;
        for (std::size_t at = first; at < last; ++at) {
            if (text[at] != '"' || text[at - 1] == '\\') continue;
            if (repaired.empty()) repaired = text;
            repaired[at] = '\'';
        }
    }
    return repaired;
}

}  // namespace

CleanText clean_templates(std::string_view text) {
    CleanText clean;
    clean.text = std::string(text);
    const bool braces = text.find("{{") != std::string_view::npos;
    const bool jinja = text.find("{%") != std::string_view::npos;
    const bool dots = text.find("...") != std::string_view::npos ||
                      text.find("\xe2\x80\xa6") != std::string_view::npos;
    if (!braces && !jinja && !dots) return clean;
    bool open = false;  // a directive of several lines
    for (const Line& line : lines_of(text)) {
        const std::string_view view = text.substr(line.begin, line.end - line.begin);
        const std::string_view words = trim(view);
        const bool begins = words.starts_with("{{") && view.find("}}") == std::string_view::npos;
        const bool directive = (words.starts_with("{{") && words.ends_with("}}")) ||
                               (words.starts_with("{%") && words.ends_with("%}"));
        if (open || begins || directive) {
            if (begins) open = true;
            if (view.find("}}") != std::string_view::npos) open = false;
            blank_out(clean.text, line);
            clean.templated = clean.gaps = true;
        } else if (dots && is_elision(view)) {
            blank_out(clean.text, line);
            clean.gaps = true;
        } else if (braces) {
            replace_inline(clean, line);
        }
    }
    return clean;
}

std::vector<YamlDocument> read_yaml(const Block& block) {
    CleanText clean = clean_templates(block.text);
    if (block.language == Language::kJson) {
        std::replace(clean.text.begin(), clean.text.end(), '\t', ' ');
    }
    std::vector<YamlDocument> documents;
    const std::vector<Line> lines = lines_of(clean.text);
    const std::string_view text = clean.text;
    std::size_t first = 0;  // line of the document
    const auto finish = [&](std::size_t end_line) {
        if (end_line <= first) return;
        const std::size_t begin = lines[first].begin;
        const std::size_t end = end_line < lines.size() ? lines[end_line].begin : text.size();
        std::string part(text.substr(begin, end - begin));
        const std::string_view whole = std::string_view(block.text).substr(begin, end - begin);
        const bool templated = clean.templated && part != whole;
        YamlDocument one = read_one(part);
        if (one.broken && block.language == Language::kJson) {
            if (std::string repaired = repaired_quotes(part); !repaired.empty()) {
                one = read_one(std::move(repaired));
            }
        }
        if (is_empty(one.node) && !one.broken) return;
        one.templated = templated || whole.find("{{") != std::string_view::npos;
        one.gaps = clean.gaps && templated;
        if (clean.gaps && !clean.templated) one.gaps = true;
        move_marks(one.node, block, static_cast<unsigned>(first));
        one.error =
            block.place(Mark{one.error.line + static_cast<unsigned>(first), one.error.column});
        documents.push_back(std::move(one));
    };
    for (std::size_t i = 0; i < lines.size(); ++i) {
        const std::string_view line = text.substr(lines[i].begin, lines[i].end - lines[i].begin);
        if (!is_separator(line)) continue;
        finish(i);
        // What stands behind `---` on its line belongs to the next document.
        first = trim(line.substr(3)).empty() || trim(line.substr(3)).front() == '#' ? i + 1 : i;
    }
    finish(lines.size());
    return documents;
}

bool looks_like_yaml(std::string_view text) {
    unsigned keys = 0;
    unsigned others = 0;
    for (unsigned seen = 0; !text.empty() && seen < 40;) {
        const auto newline = std::min(text.find('\n'), text.size());
        std::string_view line = trim(text.substr(0, newline));
        text.remove_prefix(std::min(newline + 1, text.size()));
        if (line.empty() || line.front() == '#') continue;
        ++seen;
        if (line == "---") {
            ++keys;
            continue;
        }
        const bool item = line.starts_with("- ");
        if (item) line.remove_prefix(2);
        const auto colon = line.find(':');
        const bool key = colon != std::string_view::npos && colon > 0 &&
                         (colon + 1 == line.size() || line[colon + 1] == ' ') &&
                         line.substr(0, colon).find_first_of(" =(|$<>") == std::string_view::npos;
        if (key) {
            ++keys;
        } else if (!item && line.front() != '}' && line.front() != '{') {
            ++others;
        }
    }
    return keys > 0 && keys >= 2 * others;
}

bool is_whole_yaml(std::string_view text) {
    if (text.find("```") != std::string_view::npos) return false;
    const bool plain = looks_like_yaml(text);  // not where a long script stands in it
    unsigned keys = 0;
    unsigned below = 0;  // lines that belong to a key
    while (!text.empty()) {
        const auto newline = std::min(text.find('\n'), text.size());
        const std::string_view line = text.substr(0, newline);
        text.remove_prefix(std::min(newline + 1, text.size()));
        const std::string_view bare = trim(line);
        if (bare.empty() || line.front() == '#') continue;
        if (line.front() == '\t') return false;
        if (line.front() == ' ') {
            ++below;
            continue;
        }
        if (bare == "---" || bare == "..." || bare == "-" || bare.starts_with("{{")) continue;
        const bool item = bare.starts_with("- ");
        const std::string_view rest = item ? trim(bare.substr(2)) : bare;
        const auto colon = rest.find(':');
        const bool key = colon != std::string_view::npos && colon > 0 &&
                         (colon + 1 == rest.size() || rest[colon + 1] == ' ') &&
                         rest.substr(0, colon).find_first_of(" =(|$<>*`") == std::string_view::npos;
        if (key) ++keys;
        if (!key && !item) return false;
    }
    constexpr unsigned kMany = 3;
    if (keys >= kMany) return true;
    return plain && keys > 0 && below > 0;
}

}  // namespace aliquot::syntax
