// SPDX-License-Identifier: Apache-2.0
#include "node/node_object.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json_value.h"
#include "base/text.h"

namespace aliquot::node {
namespace {

using Json = nlohmann::ordered_json;

const Json& list_at(const Json& object, const char* part, const char* key) {
    static const Json none = Json::array();
    const auto inner = object.find(part);
    if (inner == object.end() || !inner->is_object()) return none;
    const auto found = inner->find(key);
    return found != inner->end() && found->is_array() ? *found : none;
}

NodeObject node_of(const Json& root) {
    const Json& metadata = root.at("metadata");
    NodeObject node{.name = text_at(metadata, "name"),
                    .uid = text_at(metadata, "uid"),
                    .resource_version = text_at(metadata, "resourceVersion"),
                    .labels = texts_of(member(metadata, "labels")),
                    .annotations = texts_of(member(metadata, "annotations"))};
    for (const Json& taint : list_at(root, "spec", "taints")) {
        if (!taint.is_object()) continue;
        node.taints.push_back(
            {{text_at(taint, "key"), text_at(taint, "value"), text_at(taint, "effect")},
             dumped(taint)});
    }
    for (const Json& condition : list_at(root, "status", "conditions")) {
        if (!condition.is_object()) continue;
        node.conditions.push_back({{.type = text_at(condition, "type"),
                                    .good = text_at(condition, "status") == "True",
                                    .reason = text_at(condition, "reason"),
                                    .message = text_at(condition, "message")},
                                   text_at(condition, "lastTransitionTime"),
                                   text_at(condition, "lastHeartbeatTime")});
    }
    return node;
}

}  // namespace

const NodeObject::PresentCondition* NodeObject::find(std::string_view type) const {
    const auto found = std::ranges::find_if(
        conditions, [&](const PresentCondition& one) { return one.condition.type == type; });
    return found == conditions.end() ? nullptr : &*found;
}

std::optional<std::string> NodeObject::label(const std::string& key) const {
    const auto found = labels.find(key);
    if (found == labels.end()) return std::nullopt;
    return found->second;
}

Result<NodeObject> read_node(std::string_view json) {
    const Json root = Json::parse(json, nullptr, false);
    if (!root.is_object() || !root.contains("metadata") || !root["metadata"].is_object() ||
        text_at(root["metadata"], "name").empty()) {
        return Error{ErrorCode::kInvalidInput, "the text is no Node object"};
    }
    return node_of(root);
}

std::vector<std::string> owned_names(const NodeObject& node, const std::string& annotation) {
    const auto found = node.annotations.find(annotation);
    if (found == node.annotations.end()) return {};
    const auto names = split_list(found->second);
    return {names.begin(), names.end()};
}

}  // namespace aliquot::node
