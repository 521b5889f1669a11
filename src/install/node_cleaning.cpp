// SPDX-License-Identifier: Apache-2.0
#include "install/node_cleaning.h"

#include <algorithm>
#include <array>

#include "document/json.h"
#include "document/write.h"
#include "document/yaml.h"

namespace aliquot::install {
namespace {

using document::Node;

constexpr std::array<std::string_view, 3> kConditions{"GpuHealthy", "GpuConfigServed",
                                                      "MigConfigServed"};
constexpr std::array<std::string_view, 7> kAnnotations{
    "aliquot.dev/agent",        "aliquot.dev/config",
    "aliquot.dev/gpus",         "aliquot.dev/mig.config.problem",
    "aliquot.dev/owned-labels", "aliquot.dev/owned-taints",
    "aliquot.dev/shares"};

const Node* at(const Node& node, std::string_view outer, std::string_view inner) {
    const Node* const found = node.find(outer);
    return found == nullptr ? nullptr : found->find(inner);
}

std::string text_at(const Node& node, std::string_view key) {
    const Node* const found = node.find(key);
    return found == nullptr ? "" : found->scalar;
}

std::vector<std::string> split(std::string_view list) {
    std::vector<std::string> words;
    while (!list.empty()) {
        const auto comma = list.find(',');
        if (comma != 0) words.emplace_back(list.substr(0, comma));
        if (comma == std::string_view::npos) break;
        list.remove_prefix(comma + 1);
    }
    return words;
}

/// Entries of `present` that are named in `names`, each with null: a merge patch takes them away.
Node nulls_for(const Node* present, const auto& names, const std::string& what,
               std::vector<std::string>& removed) {
    Node made = document::make_mapping();
    for (const auto& name : names) {
        if (present == nullptr || present->find(name) == nullptr) continue;
        document::append(made, std::string(name), Node());
        removed.push_back(what + " " + std::string(name));
    }
    return made;
}

/// The taints that stay; `removed` grows by those that do not.
Node remaining_taints(const Node& taints, const std::vector<std::string>& ours,
                      std::vector<std::string>& removed) {
    Node made = document::make_sequence();
    for (const Node& taint : taints.items) {
        const std::string word = text_at(taint, "key") + ":" + text_at(taint, "effect");
        if (std::ranges::find(ours, word) == ours.end()) {
            made.items.push_back(taint);
        } else {
            removed.push_back("taint " + word);
        }
    }
    return made;
}

std::string condition_patch(const Node& root, std::vector<std::string>& removed) {
    const Node* const conditions = at(root, "status", "conditions");
    if (conditions == nullptr) return {};
    std::string list;
    for (const Node& one : conditions->items) {
        const std::string type = text_at(one, "type");
        if (std::ranges::find(kConditions, type) == kConditions.end()) continue;
        list += (list.empty() ? "" : ",") + std::string("{\"$patch\":\"delete\",\"type\":\"") +
                type + "\"}";
        removed.push_back("condition " + type);
    }
    return list.empty() ? "" : "{\"status\":{\"conditions\":[" + list + "]}}";
}

}  // namespace

std::optional<NodeCleaning> clean_node(std::string_view node_json) {
    const auto read = document::parse_yaml(node_json);
    if (read.documents.empty() || !read.documents[0].is_mapping()) return std::nullopt;
    const Node& root = read.documents[0];
    const Node* const annotations = at(root, "metadata", "annotations");
    const auto owned = [&](std::string_view key) {
        return annotations == nullptr ? std::vector<std::string>()
                                      : split(text_at(*annotations, key));
    };
    NodeCleaning made;
    Node labels = nulls_for(at(root, "metadata", "labels"), owned("aliquot.dev/owned-labels"),
                            "label", made.removed);
    const auto our_taints = owned("aliquot.dev/owned-taints");
    const Node* const taints = at(root, "spec", "taints");
    const std::size_t before = made.removed.size();
    Node remaining = document::make_sequence();
    if (taints != nullptr) remaining = remaining_taints(*taints, our_taints, made.removed);
    const bool taints_change = made.removed.size() != before;
    Node notes = nulls_for(annotations, kAnnotations, "annotation", made.removed);
    if (!made.removed.empty()) {
        Node metadata = document::make_mapping();
        const Node* const version = at(root, "metadata", "resourceVersion");
        if (version != nullptr) {
            Node text = document::make_string(version->scalar);
            text.quoted = true;
            document::append(metadata, "resourceVersion", std::move(text));
        }
        if (!labels.entries.empty()) document::append(metadata, "labels", std::move(labels));
        if (!notes.entries.empty()) document::append(metadata, "annotations", std::move(notes));
        Node patch = document::make_mapping();
        document::append(patch, "metadata", std::move(metadata));
        if (taints_change) {
            Node spec = document::make_mapping();
            document::append(spec, "taints", std::move(remaining));
            document::append(patch, "spec", std::move(spec));
        }
        made.patch = document::to_json(patch);
    }
    made.status_patch = condition_patch(root, made.removed);
    if (made.removed.empty()) return std::nullopt;
    return made;
}

}  // namespace aliquot::install
