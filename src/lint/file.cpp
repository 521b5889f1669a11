// SPDX-License-Identifier: Apache-2.0
#include "lint/file.h"

#include <algorithm>

#include "lint/words.h"

namespace aliquot::lint {

bool File::is_prose() const {
    return kind == FileKind::kMarkdown || kind == FileKind::kAsciidoc || kind == FileKind::kRst ||
           kind == FileKind::kText;
}

std::string_view File::line(unsigned number) const {
    if (number == 0 || number > line_starts.size()) return {};
    const std::size_t start = line_starts[number - 1];
    const std::size_t end = number < line_starts.size() ? line_starts[number] : text.size();
    std::string_view result = std::string_view(text).substr(start, end - start);
    while (!result.empty() && (result.back() == '\n' || result.back() == '\r')) {
        result.remove_suffix(1);
    }
    return result;
}

std::size_t File::offset(Mark mark) const {
    if (mark.line == 0 || mark.line > line_starts.size()) return text.size();
    const std::size_t column = mark.column == 0 ? 0 : mark.column - 1;
    return std::min(line_starts[mark.line - 1] + column, text.size());
}

Mark File::mark(std::size_t offset) const {
    const auto after = std::upper_bound(line_starts.begin(), line_starts.end(), offset);
    if (after == line_starts.begin()) return {1, 1};
    return {static_cast<unsigned>(after - line_starts.begin()),
            static_cast<unsigned>(offset - *(after - 1)) + 1};
}

bool File::mentions(std::string_view wanted) const {
    constexpr std::size_t kLarge = 4U << 10U;
    if (folded.size() < kLarge) return folded.find(wanted) != std::string::npos;
    const std::lock_guard lock(mentioned_mutex);
    const auto at = mentioned.find(wanted);
    if (at != mentioned.end()) return at->second;
    const bool found = folded.find(wanted) != std::string::npos;
    constexpr std::size_t kMost = 10'000;
    if (mentioned.size() < kMost) mentioned.emplace(std::string(wanted), found);
    return found;
}

std::string File::heading_path(int heading) const {
    std::string path;
    for (int steps = 0; heading >= 0 && steps < 16; ++steps) {
        const Heading& one = headings[static_cast<std::size_t>(heading)];
        path = path.empty() ? one.text : one.text + " > " + path;
        heading = one.parent;
    }
    return lower(path);
}

const Object* File::object(const PodSpec& pod) const {
    return pod.object < 0 ? nullptr : &objects[static_cast<std::size_t>(pod.object)];
}

const Object* File::find_object(std::string_view some_kind, std::string_view some_name) const {
    const auto found =
        std::find_if(objects.begin(), objects.end(), [some_kind, some_name](const Object& one) {
            return one.kind == some_kind && one.name == some_name && one.role == Role::kObject;
        });
    return found == objects.end() ? nullptr : &*found;
}

}  // namespace aliquot::lint
