// SPDX-License-Identifier: Apache-2.0
#include "k8s/node.h"

#include <algorithm>

#include "document/json.h"
#include "document/path.h"

namespace aliquot::k8s {

using document::Value;

const NodeCondition* Node::find(std::string_view type) const {
    const auto found = std::ranges::find(conditions, type, &NodeCondition::type);
    return found == conditions.end() ? nullptr : &*found;
}

std::optional<std::string> Node::label(const std::string& key) const {
    const auto found = labels.find(key);
    if (found == labels.end()) return std::nullopt;
    return found->second;
}

bool Node::is_ready() const {
    const NodeCondition* const ready = find("Ready");
    return ready != nullptr && ready->is_true();
}

Node read_node(const Value& object) {
    Node node{.name = text_at(object, {"metadata", "name"}),
              .uid = text_at(object, {"metadata", "uid"}),
              .resource_version = text_at(object, {"metadata", "resourceVersion"}),
              .labels = read_labels(at_path(object, {"metadata", "labels"})),
              .annotations = read_labels(at_path(object, {"metadata", "annotations"})),
              .is_cordoned = is_true(at_path(object, {"spec", "unschedulable"})),
              .capacity = read_amounts(at_path(object, {"status", "capacity"})),
              .allocatable = read_amounts(at_path(object, {"status", "allocatable"})),
              .kubelet_version = text_at(object, {"status", "nodeInfo", "kubeletVersion"})};
    for (const Value& taint : items_at(object, {"spec", "taints"})) {
        if (taint.is_mapping()) {
            node.taints.push_back({read_taint(taint), text_at(taint, {"timeAdded"})});
        }
    }
    for (const Value& one : items_at(object, {"status", "conditions"})) {
        if (!one.is_mapping()) continue;
        node.conditions.push_back({.type = text_at(one, {"type"}),
                                   .status = text_at(one, {"status"}),
                                   .reason = text_at(one, {"reason"}),
                                   .message = text_at(one, {"message"}),
                                   .transition = text_at(one, {"lastTransitionTime"}),
                                   .heartbeat = text_at(one, {"lastHeartbeatTime"})});
    }
    return node;
}

Result<Node> named_node(const Value& object) {
    const Value* const name = at_path(object, {"metadata", "name"});
    if (name == nullptr || !name->is_string() || name->scalar.empty()) {
        return Error{ErrorCode::kInvalidInput, "the text is no Node object"};
    }
    return read_node(object);
}

Result<Node> parse_node(std::string_view json) {
    const auto root = document::parse_json(json);
    return named_node(root ? *root : Value{});
}

}  // namespace aliquot::k8s
