// SPDX-License-Identifier: Apache-2.0
// The corrected form of a sharing block whose parts stand in the wrong places.
#include <algorithm>

#include "document/write.h"
#include "sharing/config_reader.h"

namespace aliquot::sharing {
namespace {

bool is_scalar(const Value& node) { return !node.is_mapping() && !node.is_sequence(); }

/// What a person may have written, wherever it stands: the first key of that name, outermost first,
/// but not inside lists (an entry's value is that entry's).
const Value* search(const Value& node, std::string_view key) {
    if (const Value* here = find_any_case(node, key)) return here;
    for (const auto& [name, value] : node.entries) {
        if (const Value* below = search(value, key)) return below;
    }
    return nullptr;
}

/// The same, in entries of lists too: a switch for all may stand in one of them.
const Value* search_everywhere(const Value& node, std::string_view key) {
    if (const Value* outside = search(node, key)) return outside;
    for (const Value& item : node.items) {
        if (const Value* below = search_everywhere(item, key)) return below;
    }
    for (const auto& [name, value] : node.entries) {
        if (const Value* below = search_everywhere(value, key)) return below;
    }
    return nullptr;
}

/// A fix is for reading.
constexpr std::size_t kMostItems = 20;
constexpr std::size_t kLongestText = 100;

bool has_list(const Value* node) {
    return node != nullptr && node->is_sequence() && !node->items.empty();
}

/// The list of resources: where it belongs, or where people put it.
const Value* find_list(const Value& root, std::string_view mechanism) {
    if (const Value* block = search(root, mechanism)) {
        if (has_list(block)) return block;
        if (const Value* list = find_any_case(*block, "resources"); has_list(list)) return list;
    }
    if (const Value* list = search(root, "resources"); has_list(list)) return list;
    return nullptr;
}

bool is_bool(const Value* node) { return node != nullptr && node->kind == Value::Kind::kBool; }

bool is_replicas(const Value* node) {
    if (node == nullptr) return false;
    const auto count = integer_of(*node, true);
    return count && *count >= 2;
}

Value number(std::string text) {
    Value node;
    node.kind = Value::Kind::kInteger;
    node.scalar = std::move(text);
    return node;
}

Value corrected_entry(const Value* entry, const Value* common_replicas) {
    const auto field = [entry](std::string_view key) {
        return entry == nullptr ? nullptr : find_any_case(*entry, key);
    };
    Value corrected = document::make_mapping();
    std::string name = "nvidia.com/gpu";
    if (const Value* given = field("name"); given != nullptr && given->is_string()) {
        const ResourceName read = parse_resource_name(given->scalar);
        if (read.problem.empty()) name = read.name;
    }
    document::append(corrected, "name", name);
    const Value* replicas = field("replicas");
    if (!is_replicas(replicas)) replicas = common_replicas;
    document::append(corrected, "replicas", is_replicas(replicas) ? *replicas : number("2"));
    if (const Value* devices = field("devices");
        devices != nullptr && ((has_list(devices) && devices->items.size() <= kMostItems) ||
                               devices->kind == Value::Kind::kInteger)) {
        document::append(corrected, "devices", *devices);
    }
    for (const auto* key : {"rename", "memory", "compute", "weight"}) {
        const Value* value = field(key);
        if (value != nullptr && is_scalar(*value) && value->kind != Value::Kind::kNull &&
            value->scalar.size() <= kLongestText) {
            document::append(corrected, key, *value);
        }
    }
    return corrected;
}

}  // namespace

std::string corrected_sharing(const Value& root) {
    const bool mps = search(root, "mps") != nullptr && search(root, "timeSlicing") == nullptr;
    const std::string mechanism = mps ? "mps" : "timeSlicing";
    Value block = document::make_mapping();
    for (const auto* key : {"renameByDefault", "failRequestsGreaterThanOne"}) {
        if (const Value* value = search_everywhere(root, key); is_bool(value)) {
            document::append(block, key, *value);
        }
    }
    const Value* list = find_list(root, mechanism);
    const Value* replicas = search(root, "replicas");
    Value entries = document::make_sequence();
    if (list != nullptr) {
        for (std::size_t i = 0; i < list->items.size() && i < kMostItems; ++i) {
            const Value& entry = list->items[i];
            if (entry.is_mapping()) entries.items.push_back(corrected_entry(&entry, replicas));
        }
    }
    if (entries.items.empty()) entries.items.push_back(corrected_entry(nullptr, replicas));
    document::append(block, "resources", std::move(entries));
    return nested("sharing", mechanism, block);
}

}  // namespace aliquot::sharing
