// SPDX-License-Identifier: Apache-2.0
#include "document/path.h"

#include <algorithm>
#include <charconv>

namespace aliquot::document {
namespace {

/// The next step of a path: a key, a "[key]" with dots, or a number.
std::string_view take_step(std::string_view& path) {
    if (!path.empty() && path.front() == '.') path.remove_prefix(1);
    if (!path.empty() && path.front() == '[') {
        const auto end = std::min(path.find(']'), path.size());
        const std::string_view step = path.substr(1, end - 1);
        path.remove_prefix(std::min(end + 1, path.size()));
        return step;
    }
    const auto end = std::min(path.find_first_of(".["), path.size());
    const std::string_view step = path.substr(0, end);
    path.remove_prefix(end);
    return step;
}

const Node* item_at(const Node& list, std::string_view step) {
    std::size_t index = 0;
    const auto [end, error] = std::from_chars(step.data(), step.data() + step.size(), index);
    if (error != std::errc{} || end != step.data() + step.size()) return nullptr;
    return index < list.items.size() ? &list.items[index] : nullptr;
}

}  // namespace

const Node* at_path(const Node& node, std::string_view path) {
    const Node* here = &node;
    while (!path.empty() && here != nullptr) {
        const std::string_view step = take_step(path);
        here = here->is_sequence() ? item_at(*here, step) : here->find(step);
    }
    return here;
}

std::string text_at(const Node& node, std::string_view path) {
    const Node* found = at_path(node, path);
    if (found == nullptr || found->is_mapping() || found->is_sequence()) return {};
    return found->scalar;
}

const Node::Entry* entry_at(const Node& node, std::string_view path) {
    const Node* here = &node;
    while (here != nullptr) {
        const std::string_view step = take_step(path);
        if (path.empty()) {
            const auto found =
                std::find_if(here->entries.rbegin(), here->entries.rend(),
                             [step](const Node::Entry& one) { return one.first.scalar == step; });
            return found == here->entries.rend() ? nullptr : &*found;
        }
        here = here->is_sequence() ? item_at(*here, step) : here->find(step);
    }
    return nullptr;
}

}  // namespace aliquot::document
