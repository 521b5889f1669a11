// SPDX-License-Identifier: Apache-2.0
#include "install/diff.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "document/write.h"
#include "document/yaml.h"

namespace aliquot::install {
namespace {

using document::Node;

void drop(Node& mapping, std::string_view key) {
    std::erase_if(mapping.entries,
                  [&](const Node::Entry& entry) { return entry.first.scalar == key; });
}

std::vector<std::string_view> lines_of(std::string_view text) {
    std::vector<std::string_view> lines;
    while (!text.empty()) {
        const auto end = text.find('\n');
        lines.push_back(text.substr(0, end));
        if (end == std::string_view::npos) break;
        text.remove_prefix(end + 1);
    }
    return lines;
}

struct Line {
    char sign = ' ';
    std::string_view text;
};

/// The longest common sequence of lines, the simple way.
std::vector<Line> aligned(const std::vector<std::string_view>& before,
                          const std::vector<std::string_view>& after) {
    const std::size_t width = after.size() + 1;
    std::vector<std::uint16_t> common((before.size() + 1) * width, 0);
    for (std::size_t i = before.size(); i-- > 0;) {
        for (std::size_t j = after.size(); j-- > 0;) {
            common[i * width + j] =
                before[i] == after[j]
                    ? static_cast<std::uint16_t>(common[(i + 1) * width + j + 1] + 1)
                    : std::max(common[(i + 1) * width + j], common[i * width + j + 1]);
        }
    }
    std::vector<Line> made;
    std::size_t i = 0;
    std::size_t j = 0;
    while (i < before.size() || j < after.size()) {
        if (i < before.size() && j < after.size() && before[i] == after[j]) {
            made.push_back({' ', before[i]});
            ++i, ++j;
        } else if (j == after.size() || (i < before.size() && common[(i + 1) * width + j] >=
                                                                  common[i * width + j + 1])) {
            made.push_back({'-', before[i++]});
        } else {
            made.push_back({'+', after[j++]});
        }
    }
    return made;
}

}  // namespace

std::string readable(std::string_view json) {
    auto read = document::parse_yaml(json);
    if (read.documents.empty() || !read.documents[0].is_mapping()) return {};
    Node& root = read.documents[0];
    drop(root, "status");
    for (Node::Entry& entry : root.entries) {
        if (entry.first.scalar == "metadata") {
            for (const auto* key : {"managedFields", "resourceVersion", "uid", "creationTimestamp",
                                    "generation", "selfLink"}) {
                drop(entry.second, key);
            }
        }
    }
    const Node* const kind = root.find("kind");
    if (kind != nullptr && kind->scalar == "Secret") {
        drop(root, "data");
        drop(root, "stringData");
    }
    return document::to_yaml(root);
}

std::string line_diff(std::string_view before, std::string_view after) {
    constexpr std::size_t kMostLines = 5000;
    constexpr std::size_t kAround = 3;
    if (before == after) return {};
    const auto old_lines = lines_of(before);
    const auto new_lines = lines_of(after);
    std::vector<Line> all;
    if (old_lines.size() > kMostLines || new_lines.size() > kMostLines) {
        for (const auto line : old_lines) all.push_back({'-', line});
        for (const auto line : new_lines) all.push_back({'+', line});
    } else {
        all = aligned(old_lines, new_lines);
    }
    std::vector<bool> shown(all.size(), false);
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (all[i].sign == ' ') continue;
        const std::size_t end = std::min(all.size(), i + kAround + 1);
        for (std::size_t k = i - std::min(i, kAround); k < end; ++k) shown[k] = true;
    }
    std::string text;
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (!shown[i]) continue;
        if (i > 0 && !shown[i - 1]) text += " ...\n";
        text += all[i].sign;
        text.append(all[i].text).append("\n");
    }
    return text;
}

}  // namespace aliquot::install
