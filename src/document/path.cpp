// SPDX-License-Identifier: Apache-2.0
#include "document/path.h"

#include <algorithm>

#include "base/number.h"

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

const Value* item_at(const Value& list, std::string_view step) {
    const auto index = parse_number<std::size_t>(step);
    return index && *index < list.items.size() ? &list.items[*index] : nullptr;
}

const std::vector<Value>& no_items() {
    static const std::vector<Value> kNone;
    return kNone;
}

const std::vector<Value::Entry>& no_entries() {
    static const std::vector<Value::Entry> kNone;
    return kNone;
}

}  // namespace

const Value* at_path(const Value& node, std::string_view path) {
    const Value* here = &node;
    while (!path.empty() && here != nullptr) {
        const std::string_view step = take_step(path);
        here = here->is_sequence() ? item_at(*here, step) : here->find(step);
    }
    return here;
}

std::string text_at(const Value& node, std::string_view path) {
    return text_of(at_path(node, path));
}

const Value::Entry* entry_at(const Value& node, std::string_view path) {
    const Value* here = &node;
    while (here != nullptr) {
        const std::string_view step = take_step(path);
        if (path.empty()) {
            const auto found =
                std::find_if(here->entries.rbegin(), here->entries.rend(),
                             [step](const Value::Entry& one) { return one.first.scalar == step; });
            return found == here->entries.rend() ? nullptr : &*found;
        }
        here = here->is_sequence() ? item_at(*here, step) : here->find(step);
    }
    return nullptr;
}

const Value* at_path(const Value* node, std::initializer_list<std::string_view> path) {
    for (const std::string_view key : path) {
        if (node == nullptr) return nullptr;
        node = node->find(key);
    }
    return node;
}

const Value* at_path(const Value& node, std::initializer_list<std::string_view> path) {
    return at_path(&node, path);
}

std::string text_of(const Value* node) {
    const bool scalar = node != nullptr && node->kind != Value::Kind::kNull &&
                        !node->is_mapping() && !node->is_sequence();
    return scalar ? node->scalar : std::string{};
}

std::string text_at(const Value* node, std::initializer_list<std::string_view> path) {
    return text_of(at_path(node, path));
}

std::string text_at(const Value& node, std::initializer_list<std::string_view> path) {
    return text_of(at_path(&node, path));
}

const std::vector<Value>& items_at(const Value* node,
                                   std::initializer_list<std::string_view> path) {
    const Value* const found = at_path(node, path);
    return found == nullptr ? no_items() : found->items;
}

const std::vector<Value>& items_at(const Value& node,
                                   std::initializer_list<std::string_view> path) {
    return items_at(&node, path);
}

const std::vector<Value::Entry>& entries_at(const Value* node,
                                            std::initializer_list<std::string_view> path) {
    const Value* const found = at_path(node, path);
    return found == nullptr ? no_entries() : found->entries;
}

const std::vector<Value::Entry>& entries_at(const Value& node,
                                            std::initializer_list<std::string_view> path) {
    return entries_at(&node, path);
}

bool is_true(const Value* node) { return text_of(node) == "true"; }

}  // namespace aliquot::document
