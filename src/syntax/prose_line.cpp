// SPDX-License-Identifier: Apache-2.0
#include "syntax/prose_line.h"

#include <algorithm>
#include <array>

#include "syntax/words.h"

namespace aliquot::syntax {
namespace {

std::size_t run_of(std::string_view text, char c) {
    return std::min(text.find_first_not_of(c), text.size());
}

/// "yaml" of "yaml title=x", "{code-block} yaml", "{.yaml .numberLines}", "language-yaml".
std::string first_word(std::string_view info) {
    info = trim(info);
    if (info.starts_with("{") && info.find('}') != std::string_view::npos) {
        const auto end = info.find('}');
        const std::string_view inside = info.substr(1, end - 1);
        if (inside.starts_with("code") || inside.starts_with("source")) {
            return first_word(info.substr(end + 1));
        }
        info = inside;
    }
    while (!info.empty() && (info.front() == '.' || info.front() == ' ')) info.remove_prefix(1);
    constexpr std::string_view kLanguage = "language-";
    if (info.starts_with(kLanguage)) info.remove_prefix(kLanguage.size());
    return lower(info.substr(0, info.find_first_of(" \t,:{}(")));
}

std::optional<Fence> adoc_fence(std::string_view line) {
    if (line.size() < 4 || (line[0] != '-' && line[0] != '.')) return std::nullopt;
    if (run_of(line, line[0]) != line.size()) return std::nullopt;
    return Fence{std::string(1, line[0]), line.size(), ""};
}

std::optional<Fence> html_fence(std::string_view line) {
    if (line.starts_with("<pre") && line.find("</pre") == std::string_view::npos) {
        return Fence{"</pre", 1, ""};
    }
    constexpr std::array<std::string_view, 3> kHighlights{"{{< highlight", "{{% highlight",
                                                          "{% highlight"};
    for (const std::string_view open : kHighlights) {
        if (!line.starts_with(open)) continue;
        return Fence{
            open[1] == '%' ? "{% endhighlight" : std::string(open.substr(0, 4)) + "/highlight", 1,
            first_word(line.substr(open.size()))};
    }
    return std::nullopt;
}

}  // namespace

std::size_t indent_of(std::string_view line) {
    return std::min(line.find_first_not_of(" \t"), line.size());
}

std::size_t quote_and_indent(std::string_view line) {
    std::size_t at = indent_of(line);
    while (at < line.size() && line[at] == '>' && (at + 1 == line.size() || line[at + 1] == ' ')) {
        at = std::min(line.find_first_not_of(" \t", at + 1), line.size());
    }
    return at;
}

std::optional<Fence> fence_of(std::string_view line, FileKind kind) {
    line = trim(line.substr(quote_and_indent(line)));
    if (line.starts_with("- ```") || line.starts_with("* ```")) line.remove_prefix(2);
    if (line.size() < 3) return std::nullopt;
    if (line[0] == '`' || line[0] == '~') {
        const std::size_t length = run_of(line, line[0]);
        const std::string_view info = line.substr(length);
        if (length < 3 || (line[0] == '`' && info.find('`') != std::string_view::npos)) {
            return std::nullopt;
        }
        return Fence{std::string(1, line[0]), length, first_word(info)};
    }
    if (kind == FileKind::kAsciidoc) return adoc_fence(line);
    return html_fence(line);
}

bool closes(const Fence& fence, std::string_view line) {
    line = trim(line.substr(quote_and_indent(line)));
    if (fence.mark.size() > 1) return line.find(fence.mark) != std::string_view::npos;
    const char c = fence.mark.front();
    const std::size_t length = run_of(line, c);
    const bool same = c == '`' || c == '~' ? length >= fence.length : length == fence.length;
    return same && length == line.size();
}

std::optional<std::string> code_directive(std::string_view line) {
    line = trim(line);
    constexpr std::array<std::string_view, 6> kDirectives{
        ".. code-block::", ".. code::",      ".. sourcecode::",
        ".. prompt::",     ".. highlight::", ".. parsed-literal::"};
    for (const std::string_view directive : kDirectives) {
        if (line.starts_with(directive)) return first_word(line.substr(directive.size()));
    }
    return std::nullopt;
}

std::optional<HeadingMark> heading_mark(std::string_view line, FileKind kind) {
    const char c = kind == FileKind::kAsciidoc ? '=' : '#';
    if (kind == FileKind::kRst || kind == FileKind::kText) return std::nullopt;
    const std::size_t first = indent_of(line);
    if (first > 3) return std::nullopt;
    line.remove_prefix(first);
    const std::size_t level = run_of(line, c);
    if (level == 0 || level > 6 || level == line.size() || line[level] != ' ') return std::nullopt;
    std::string_view words = trim(line.substr(level));
    while (!words.empty() && words.back() == c) words.remove_suffix(1);
    return HeadingMark{static_cast<unsigned>(level), trim(words)};
}

std::optional<unsigned> underline_level(std::string_view line, std::string_view below,
                                        FileKind kind) {
    below = trim(below);
    if (below.size() < 3 || indent_of(line) > 3) return std::nullopt;
    const char c = below.front();
    if (run_of(below, c) != below.size()) return std::nullopt;
    if (kind == FileKind::kMarkdown) {
        if (c == '=') return 1;
        const bool plain_line = line.find('|') == std::string_view::npos && line[0] != '-' &&
                                line[0] != '*' && line[0] != '>';
        if (c == '-' && plain_line) return 2;
        return std::nullopt;
    }
    if (kind == FileKind::kAsciidoc) return std::nullopt;
    constexpr std::string_view kOrder = "#*=-^\"~'`+.";
    const auto level = kOrder.find(c);
    if (level == std::string_view::npos || below.size() + 2 < trim(line).size())
        return std::nullopt;
    return static_cast<unsigned>(level) + 1;
}

bool is_table_row(std::string_view line) {
    line = trim(line);
    return line.size() > 2 && (line.front() == '|' || line.find(" | ") != std::string_view::npos) &&
           line.find('|') != std::string_view::npos;
}

bool is_table_rule(std::string_view line) {
    line = trim(line);
    return line.find("--") != std::string_view::npos && line.find('|') != std::string_view::npos &&
           line.find_first_not_of("|-: \t+=") == std::string_view::npos;
}

std::vector<Table::Cell> cells_of(std::string_view line, unsigned number) {
    std::vector<Table::Cell> cells;
    std::size_t at = indent_of(line);
    if (at < line.size() && line[at] == '|') ++at;
    while (at < line.size()) {
        std::size_t end = line.find('|', at);
        while (end != std::string_view::npos && line[end - 1] == '\\')
            end = line.find('|', end + 1);
        end = std::min(end, line.size());
        const std::string_view cell = line.substr(at, end - at);
        const std::size_t blank = indent_of(cell);
        if (end < line.size() || !trim(cell).empty()) {
            cells.push_back({plain(trim(cell)), {number, static_cast<unsigned>(at + blank) + 1}});
        }
        at = end + 1;
    }
    return cells;
}

std::size_t begin_of_words(std::string_view line, Statement::Kind& kind) {
    std::size_t at = quote_and_indent(line);
    if (at + 1 >= line.size()) return at;
    const char c = line[at];
    std::size_t mark = at;
    if ((c == '-' || c == '*' || c == '+') && line[at + 1] == ' ') {
        mark = at + 2;
    } else if (c >= '0' && c <= '9') {
        const auto end = line.find_first_not_of("0123456789", at);
        const bool item = end != std::string_view::npos && (line[end] == '.' || line[end] == ')') &&
                          end + 1 < line.size() && line[end + 1] == ' ';
        if (item) mark = end + 2;
    }
    if (mark == at) return at;
    kind = Statement::Kind::kListItem;
    return std::min(line.find_first_not_of(" \t", mark), line.size());
}

std::string plain(std::string_view words) {
    std::string result;
    for (std::size_t i = 0; i < words.size(); ++i) {
        const bool bold = words[i] == '*' && i + 1 < words.size() && words[i + 1] == '*';
        if (bold) {
            ++i;
        } else if (words[i] != '`') {
            result += words[i];
        }
    }
    return result;
}

std::string heredoc_delimiter(std::string_view line) {
    const auto at = line.find("<<");
    if (at == std::string_view::npos || line.substr(at, 3) == "<<<") return {};
    std::string_view rest = trim(line.substr(at + 2));
    while (!rest.empty() && (rest[0] == '-' || rest[0] == '\'' || rest[0] == '"')) {
        rest.remove_prefix(1);
    }
    return std::string(rest.substr(0, rest.find_first_of(" '\"|>;&")));
}

void join_powershell(std::string& text) {
    for (auto at = text.find(" `\n"); at != std::string::npos; at = text.find(" `\n", at + 1)) {
        const auto next = text.find_first_not_of(" \t", at + 3);
        const auto line = text.rfind('\n', at) + 1;  // npos + 1 is 0
        const bool one = text.find('`', line) == at + 1;
        if (one && next != std::string::npos && text[next] == '-') text[at + 1] = '\\';
    }
}

bool begins_like_yaml(std::string_view line) {
    if (line == "---" || line.starts_with("#")) return line == "---";
    if (line.starts_with("- ")) line.remove_prefix(2);
    constexpr std::array<std::string_view, 26> kKeys{
        "apiVersion:",   "kind:",         "metadata:",    "spec:",        "resources:",
        "env:",          "sharing:",      "version:",     "data:",        "limits:",
        "requests:",     "nodeSelector:", "tolerations:", "containers:",  "volumes:",
        "volumeMounts:", "template:",     "mig-configs:", "timeSlicing:", "devicePlugin:",
        "flags:",        "affinity:",     "groups:",      "status:",      "stringData:",
        "type:"};
    return std::any_of(kKeys.begin(), kKeys.end(),
                       [line](std::string_view key) { return line.starts_with(key); });
}

bool is_surely_command(std::string_view line) {
    std::string_view words = trim(line);
    if (words.starts_with("sudo ")) words = trim(words.substr(5));
    const bool option = words.find(" -") != std::string_view::npos;
    constexpr std::array<std::string_view, 5> kHelm{
        "helm install ", "helm upgrade ", "helm repo add ", "microk8s enable ", "nvidia-smi mig "};
    if (std::any_of(kHelm.begin(), kHelm.end(),
                    [words](std::string_view one) { return words.starts_with(one); })) {
        return words.back() != '.' && words.back() != ':';
    }
    if (words.starts_with("curl -") || words.starts_with("nvidia-smi -")) return true;
    if (words.starts_with("docker run ")) return option;
    if (!words.starts_with("kubectl ") && !words.starts_with("oc ") && !words.starts_with("k ")) {
        return false;
    }
    constexpr std::array<std::string_view, 9> kVerbs{"apply", "create", "label", "run",    "scale",
                                                     "get",   "taint",  "exec",  "rollout"};
    const auto rest = trim(words.substr(words.find(' ')));
    const auto verb = rest.substr(0, rest.find(' '));
    const bool known = std::find(kVerbs.begin(), kVerbs.end(), verb) != kVerbs.end();
    return known && (option || words.find_first_of("/=") != std::string_view::npos);
}

}  // namespace aliquot::syntax
