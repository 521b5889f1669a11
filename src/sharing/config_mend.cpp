// SPDX-License-Identifier: Apache-2.0
// The mended form of a sharing block whose parts stand in the wrong places.
#include <algorithm>

#include "document/write.h"
#include "sharing/config_reader.h"

namespace aliquot::sharing {
namespace {

bool is_scalar(const Node& node) { return !node.is_mapping() && !node.is_sequence(); }

/// What a person may have written, wherever it stands: the first key of that name, outermost first,
/// but not inside lists (an entry's value is that entry's).
const Node* search(const Node& node, std::string_view key) {
    if (const Node* here = find_any_case(node, key)) return here;
    for (const auto& [name, value] : node.entries) {
        if (const Node* below = search(value, key)) return below;
    }
    return nullptr;
}

/// The same, in entries of lists too: a switch for all may stand in one of them.
const Node* search_everywhere(const Node& node, std::string_view key) {
    if (const Node* outside = search(node, key)) return outside;
    for (const Node& item : node.items) {
        if (const Node* below = search_everywhere(item, key)) return below;
    }
    for (const auto& [name, value] : node.entries) {
        if (const Node* below = search_everywhere(value, key)) return below;
    }
    return nullptr;
}

/// A fix is for reading.
constexpr std::size_t kMostItems = 20;
constexpr std::size_t kLongestText = 100;

bool has_list(const Node* node) {
    return node != nullptr && node->is_sequence() && !node->items.empty();
}

/// The list of resources: where it belongs, or where people put it.
const Node* find_list(const Node& root, std::string_view mechanism) {
    if (const Node* block = search(root, mechanism)) {
        if (has_list(block)) return block;
        if (const Node* list = find_any_case(*block, "resources"); has_list(list)) return list;
    }
    if (const Node* list = search(root, "resources"); has_list(list)) return list;
    return nullptr;
}

bool is_bool(const Node* node) { return node != nullptr && node->kind == Node::Kind::kBool; }

bool is_replicas(const Node* node) {
    if (node == nullptr) return false;
    const auto count = integer_of(*node, true);
    return count && *count >= 2;
}

Node number(std::string text) {
    Node node;
    node.kind = Node::Kind::kInteger;
    node.scalar = std::move(text);
    return node;
}

Node mended_entry(const Node* entry, const Node* common_replicas) {
    const auto field = [entry](std::string_view key) {
        return entry == nullptr ? nullptr : find_any_case(*entry, key);
    };
    Node mended = document::make_mapping();
    std::string name = "nvidia.com/gpu";
    if (const Node* given = field("name"); given != nullptr && given->is_string()) {
        const ResourceName read = parse_resource_name(given->scalar);
        if (read.problem.empty()) name = read.name;
    }
    document::append(mended, "name", name);
    const Node* replicas = field("replicas");
    if (!is_replicas(replicas)) replicas = common_replicas;
    document::append(mended, "replicas", is_replicas(replicas) ? *replicas : number("2"));
    if (const Node* devices = field("devices");
        devices != nullptr && ((has_list(devices) && devices->items.size() <= kMostItems) ||
                               devices->kind == Node::Kind::kInteger)) {
        document::append(mended, "devices", *devices);
    }
    for (const auto* key : {"rename", "memory", "compute", "weight"}) {
        const Node* value = field(key);
        if (value != nullptr && is_scalar(*value) && value->kind != Node::Kind::kNull &&
            value->scalar.size() <= kLongestText) {
            document::append(mended, key, *value);
        }
    }
    return mended;
}

}  // namespace

std::string mended_sharing(const Node& root) {
    const bool mps = search(root, "mps") != nullptr && search(root, "timeSlicing") == nullptr;
    const std::string mechanism = mps ? "mps" : "timeSlicing";
    Node block = document::make_mapping();
    for (const auto* key : {"renameByDefault", "failRequestsGreaterThanOne"}) {
        if (const Node* value = search_everywhere(root, key); is_bool(value)) {
            document::append(block, key, *value);
        }
    }
    const Node* list = find_list(root, mechanism);
    const Node* replicas = search(root, "replicas");
    Node entries = document::make_sequence();
    if (list != nullptr) {
        for (std::size_t i = 0; i < list->items.size() && i < kMostItems; ++i) {
            const Node& entry = list->items[i];
            if (entry.is_mapping()) entries.items.push_back(mended_entry(&entry, replicas));
        }
    }
    if (entries.items.empty()) entries.items.push_back(mended_entry(nullptr, replicas));
    document::append(block, "resources", std::move(entries));
    return nested("sharing", mechanism, block);
}

}  // namespace aliquot::sharing
