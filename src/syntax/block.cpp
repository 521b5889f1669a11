// SPDX-License-Identifier: Apache-2.0
#include "syntax/block.h"

#include <algorithm>

namespace aliquot::syntax {

std::string_view to_text(Language language) {
    switch (language) {
        case Language::kYaml:
            return "yaml";
        case Language::kJson:
            return "json";
        case Language::kShell:
            return "shell";
        case Language::kOutput:
            return "output";
        case Language::kDockerfile:
            return "dockerfile";
        case Language::kPromql:
            return "promql";
        case Language::kPython:
            return "python";
        case Language::kHcl:
            return "hcl";
        case Language::kToml:
            return "toml";
        case Language::kText:
            break;
    }
    return "text";
}

Mark Block::place(Mark inner) const {
    if (inner.line == 0) return {};
    if (!exact) return begin;
    unsigned shift = 0;
    if (!shifts.empty()) {
        shift = shifts[std::min<std::size_t>(inner.line - 1, shifts.size() - 1)];
    }
    return {line + inner.line - 1, shift + inner.column};
}

Mark Block::place(std::size_t offset) const {
    offset = std::min(offset, text.size());
    if (line_starts.empty()) return place(Mark{1, static_cast<unsigned>(offset) + 1});
    const auto after = std::upper_bound(line_starts.begin(), line_starts.end(), offset);
    const auto number = static_cast<unsigned>(after - line_starts.begin());
    return place(Mark{number, static_cast<unsigned>(offset - line_starts[number - 1]) + 1});
}

unsigned Block::lines() const {
    if (!exact) return 1;
    const auto ends = std::count(text.begin(), text.end(), '\n');
    const bool open = !text.empty() && text.back() != '\n';
    return static_cast<unsigned>(ends) + (open ? 1U : 0U);
}

void Block::set_text(std::string new_text) {
    text = std::move(new_text);
    line_starts.assign(1, 0);
    for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos;) {
        line_starts.push_back(++at);
    }
}

}  // namespace aliquot::syntax
