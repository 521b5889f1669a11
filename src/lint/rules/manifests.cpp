// SPDX-License-Identifier: Apache-2.0
// Manifests that no server can read: API003.
#include <algorithm>
#include <array>
#include <map>

#include "base/text.h"
#include "lint/families.h"
#include "lint/kept.h"
#include "lint/words.h"

namespace aliquot::lint {
namespace {

/// The lines of the document, of those that `---` divides a block into, that has the line.
std::string_view document_around(std::string_view text, std::size_t line) {
    std::size_t begin = 0;
    std::size_t at = 0;
    for (std::size_t number = 1; at < text.size(); ++number) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        if (text.substr(at).starts_with("---")) {
            if (number > line) return text.substr(begin, at - begin);
            begin = at;
        }
        at = end + 1;
    }
    return text.substr(begin);
}

/// A manifest in which something is filled in, or left out, before it is read.
bool has_blanks(std::string_view text) {
    constexpr std::array<std::string_view, 14> kMarks{"{{",           "{%",  "<%",  "[[", "${",
                                                      "$(",           "@@",  "<<",  "%(", "...",
                                                      "\xe2\x80\xa6", "= @", ": @", "#@"};
    return std::any_of(kMarks.begin(), kMarks.end(),
                       [text](std::string_view mark) { return contains(text, mark); });
}

bool is_about_gpus(std::string_view text) {
    const std::string folded = lower(text);
    return contains(folded, "nvidia") || contains(folded, "gpu") || contains(folded, "cuda");
}

bool has_key(std::string_view text, std::string_view key) {
    for (std::size_t at = 0; (at = text.find(key, at)) != std::string_view::npos; ++at) {
        const bool first = at == 0 || text[at - 1] == '\n';
        if (first || (at > 1 && text.substr(at - 2, 2) == "\\n")) return true;
    }
    return false;
}

/// Text without indentation in which a script of the manifest goes on: where it begins, above `line`.
std::size_t first_stray(const Block& block, std::size_t line) {
    const auto is_stray = [&block](std::size_t number) {
        const std::size_t at = block.line_starts[number - 1];
        const std::string_view text = std::string_view(block.text).substr(at);
        const std::string_view words = text.substr(0, text.find('\n'));
        if (trim(words).empty() || words.front() == ' ' || words.front() == '#') return false;
        if (words.starts_with("---") || words.starts_with("- ")) return false;
        const auto name = words.find_first_not_of(
            "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-./");
        if (name == std::string_view::npos || words[name] != ':') return true;
        return name + 1 < words.size() && words[name + 1] != ' ';
    };
    while (line > 1 && line <= block.line_starts.size() && is_stray(line - 1)) --line;
    return line;
}

/// A key that stands twice in one mapping: some readers refuse the file, others take the last value.
void check_keys(const Value& node, bool strong, Report& report) {
    std::map<std::string_view, unsigned> lines;
    for (const Value::Entry& entry : node.entries) {
        const std::string_view key = entry.first.scalar;
        check_keys(entry.second, strong, report);
        const auto [first, fresh] = lines.emplace(key, entry.first.mark.line);
        if (fresh || key.empty() || key == "<<" || is_placeholder(key)) continue;
        auto added = report.add("API003", entry.first.mark,
                                concat({"the key '", key, "' stands twice, first in line ",
                                        std::to_string(first->second)}));
        if (!strong) added.severity(findings::Severity::kInfo);
    }
    for (const Value& item : node.items) check_keys(item, strong, report);
}

}  // namespace

void check_manifests(const File& file, const Set& /*set*/, const Facts* /*facts*/, Report& report) {
    for (const Object& object : file.objects) {
        if (object.role != Role::kObject || object.templated || object.broken || object.inner)
            continue;
        check_keys(*object.node, is_about_gpus(file.blocks[object.block].text), report);
    }
    for (const File::Unreadable& one : file.unreadable) {
        const Block& block = file.blocks[static_cast<std::size_t>(one.block)];
        if (block.setting != Setting::kFile || block.language != Language::kYaml) continue;
        if (contains(one.message, "more than")) continue;  // a limit of ours
        const std::string_view text = document_around(block.text, one.mark.line);
        const bool manifest = has_key(text, "apiVersion:") && has_key(text, "kind:");
        if (!manifest || !is_about_gpus(text)) {
            if (has_blanks(block.text) || is_kept(file)) continue;
            report
                .add("API003", one.mark,
                     "the file is no YAML from here on, and was not checked: " + one.message)
                .severity(findings::Severity::kInfo);
            continue;
        }
        if (has_blanks(text)) continue;
        if (contains(text, "timeSlicing:") || contains(text, "\nsharing:")) continue;  // DPC020
        const std::size_t line = first_stray(block, one.mark.line);
        if (line < one.mark.line) {
            report.add("API003", Mark{static_cast<unsigned>(line), 1},
                       "the manifest is no YAML from here on: a line without indentation ends the "
                       "text above it");
            continue;
        }
        report.add("API003", one.mark, "the manifest is no YAML from here on: " + one.message);
    }
}

}  // namespace aliquot::lint
