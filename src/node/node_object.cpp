// SPDX-License-Identifier: Apache-2.0
#include "node/node_object.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/text.h"

namespace aliquot::node {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<std::string_view, 3> kEffects{"NoSchedule", "PreferNoSchedule", "NoExecute"};
constexpr std::size_t kLongestName = 63;
constexpr std::size_t kLongestPrefix = 253;

bool is_letter_or_digit(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool is_name(std::string_view text) {
    return !text.empty() && text.size() <= kLongestName && is_letter_or_digit(text.front()) &&
           is_letter_or_digit(text.back()) && std::ranges::all_of(text, [](char c) {
               return is_letter_or_digit(c) || c == '-' || c == '_' || c == '.';
           });
}

bool is_key(std::string_view text) {
    const std::size_t slash = text.find('/');
    if (slash == std::string_view::npos) return is_name(text);
    const std::string_view prefix = text.substr(0, slash);
    return is_name(text.substr(slash + 1)) && !prefix.empty() && prefix.size() <= kLongestPrefix &&
           std::ranges::all_of(prefix, [](char c) {
               return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
           });
}

std::string text_at(const Json& object, const char* key) {
    const auto found = object.find(key);
    return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

labels::Labels strings_at(const Json& object, const char* key) {
    labels::Labels result;
    const auto found = object.find(key);
    if (found == object.end() || !found->is_object()) return result;
    for (const auto& [name, value] : found->items()) {
        if (value.is_string()) result[name] = value.get<std::string>();
    }
    return result;
}

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
                    .labels = strings_at(metadata, "labels"),
                    .annotations = strings_at(metadata, "annotations")};
    for (const Json& taint : list_at(root, "spec", "taints")) {
        if (!taint.is_object()) continue;
        node.taints.push_back(
            {{text_at(taint, "key"), text_at(taint, "value"), text_at(taint, "effect")},
             taint.dump(-1, ' ', false, Json::error_handler_t::replace)});
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

Result<Taint> parse_taint(std::string_view text) {
    const auto wrong = [&](std::string_view why) {
        return Error{ErrorCode::kInvalidInput,
                     "taint '" + std::string(text) + "': " + std::string(why) +
                         "; expected KEY=VALUE:EFFECT, as nvidia.com/gpu=true:NoSchedule"};
    };
    const std::size_t colon = text.rfind(':');
    if (colon == std::string_view::npos) return wrong("has no effect");
    const std::string_view effect = text.substr(colon + 1);
    if (std::ranges::find(kEffects, effect) == kEffects.end()) {
        return wrong("'" + std::string(effect) +
                     "' is not NoSchedule, PreferNoSchedule or NoExecute");
    }
    const std::string_view pair = text.substr(0, colon);
    const std::size_t equals = pair.find('=');
    const std::string_view key = pair.substr(0, equals);
    const std::string_view value =
        equals == std::string_view::npos ? std::string_view{} : pair.substr(equals + 1);
    if (!is_key(key)) return wrong("'" + std::string(key) + "' is no key");
    if (!value.empty() && !is_name(value)) return wrong("'" + std::string(value) + "' is no value");
    return Taint{std::string(key), std::string(value), std::string(effect)};
}

std::string to_text(const Taint& taint) {
    return taint.key + (taint.value.empty() ? "" : "=" + taint.value) + ":" + taint.effect;
}

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
