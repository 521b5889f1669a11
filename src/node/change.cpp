// SPDX-License-Identifier: Apache-2.0
#include "node/change.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <ctime>
#include <nlohmann/json.hpp>

#include "base/json_value.h"
#include "base/text.h"
#include "base/time_text.h"
#include "node/names.h"

namespace aliquot::node {
namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::system_clock;

constexpr std::size_t kLongestMessage = 1024;  // bytes of a condition's message

/// Sets what is not so already; an empty wanted value removes.
void set_or_remove(Json& patch, const labels::Labels& present, const std::string& key,
                   const std::string& wanted) {
    const auto found = present.find(key);
    if (wanted.empty()) {
        if (found != present.end()) patch[key] = nullptr;
    } else if (found == present.end() || found->second != wanted) {
        patch[key] = wanted;
    }
}

std::string slot_of(const k8s::Taint& taint) { return taint.key + ":" + taint.effect; }

Json taint_json(const k8s::Taint& taint, const std::string& time_added) {
    Json json{{"key", taint.key}, {"effect", taint.effect}};
    if (!taint.value.empty()) json["value"] = taint.value;
    if (!time_added.empty()) json["timeAdded"] = time_added;
    return json;
}

struct TaintChange {
    std::optional<Json> list;  // empty: it stays
    std::vector<std::string> owned;
    std::vector<std::string> foreign;
};

/// Kubernetes keeps one taint for each key and effect.
TaintChange change_taints(const k8s::Node& node, const std::vector<k8s::Taint>& wanted) {
    const auto ours = owned_names(node, kOwnedTaints);
    const auto is_ours = [&](const std::string& slot) {
        return std::ranges::find(ours, slot) != ours.end();
    };
    TaintChange change;
    Json list = Json::array();
    bool changed = false;
    std::vector<std::string> standing;
    for (const k8s::NodeTaint& present : node.taints) {
        const std::string slot = slot_of(present);
        const auto desired = std::ranges::find_if(
            wanted, [&](const k8s::Taint& one) { return slot_of(one) == slot; });
        if (is_ours(slot) && desired == wanted.end()) {
            changed = true;
            continue;
        }
        standing.push_back(slot);
        if (is_ours(slot)) change.owned.push_back(slot);
        if (desired != wanted.end() && desired->value != present.value) {
            if (!is_ours(slot)) {
                change.foreign.push_back(slot);
            } else {
                changed = true;
                list.push_back(taint_json(*desired, ""));
                continue;
            }
        }
        list.push_back(taint_json(present, present.time_added));
    }
    for (const k8s::Taint& taint : wanted) {
        const std::string slot = slot_of(taint);
        if (std::ranges::find(standing, slot) != standing.end()) continue;
        changed = true;
        change.owned.push_back(slot);
        list.push_back(taint_json(taint, ""));
    }
    std::ranges::sort(change.owned);
    if (changed) change.list = std::move(list);
    return change;
}

Json condition_json(const Condition& wanted, const k8s::NodeCondition* present,
                    Clock::time_point now) {
    const bool turned =
        present == nullptr || present->is_true() != wanted.good || present->transition.empty();
    return {{"type", wanted.type},
            {"status", wanted.good ? "True" : "False"},
            {"reason", wanted.reason},
            {"message", wanted.message},
            {"lastHeartbeatTime", rfc3339(now)},
            {"lastTransitionTime", turned ? rfc3339(now) : present->transition}};
}

bool is_due(const k8s::NodeCondition* present, const Condition& wanted, Clock::time_point now,
            std::chrono::seconds heartbeat) {
    if (present == nullptr || !wanted.is_told(*present)) return true;
    const auto told = parse_rfc3339(present->heartbeat);
    return !told || now - *told >= heartbeat || *told > now + heartbeat;
}

void shorten(std::string& text) {
    if (text.size() <= kLongestMessage) return;
    constexpr std::string_view kMore = " ...";
    std::size_t end = kLongestMessage - kMore.size();
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
    text.resize(end);
    text += kMore;
}

std::string status_patch(const k8s::Node& node, const DesiredNode& desired, Clock::time_point now,
                         std::chrono::seconds heartbeat) {
    Json conditions = Json::array();
    for (Condition wanted : desired.conditions) {
        shorten(wanted.message);
        const auto* const present = node.find(wanted.type);
        if (is_due(present, wanted, now, heartbeat)) {
            conditions.push_back(condition_json(wanted, present, now));
        }
    }
    for (const std::string& type : desired.ended) {
        if (node.find(type) != nullptr) {
            conditions.push_back({{"$patch", "delete"}, {"type", type}});
        }
    }
    if (conditions.empty()) return {};
    return dumped(Json{{"status", {{"conditions", std::move(conditions)}}}});
}

std::string merge_patch(const k8s::Node& node, Json labels, Json annotations,
                        std::optional<Json> taints) {
    if (labels.empty() && annotations.empty() && !taints) return {};
    Json metadata = Json::object();
    if (!node.resource_version.empty()) metadata["resourceVersion"] = node.resource_version;
    if (!labels.empty()) metadata["labels"] = std::move(labels);
    if (!annotations.empty()) metadata["annotations"] = std::move(annotations);
    Json patch{{"metadata", std::move(metadata)}};
    if (taints) patch["spec"] = {{"taints", std::move(*taints)}};
    return dumped(patch);
}

}  // namespace

Change change_node(const k8s::Node& node, const DesiredNode& desired, Clock::time_point now,
                   std::chrono::seconds heartbeat) {
    const auto labels =
        labels::change_labels(node.labels, owned_names(node, kOwnedLabels), desired.labels);
    TaintChange taints = change_taints(node, desired.taints);
    Json label_patch = Json::object();
    for (const auto& [key, value] : labels.set) label_patch[key] = value;
    for (const std::string& key : labels.remove) label_patch[key] = nullptr;
    for (const auto& [key, value] : desired.answers) {
        set_or_remove(label_patch, node.labels, key, value);
    }
    Json annotations = Json::object();
    for (const auto& [key, value] : desired.annotations) {
        set_or_remove(annotations, node.annotations, key, value);
    }
    set_or_remove(annotations, node.annotations, kOwnedLabels, join(labels.ours, ","));
    set_or_remove(annotations, node.annotations, kOwnedTaints, join(taints.owned, ","));
    Change change{.foreign = labels.foreign};
    change.foreign.insert(change.foreign.end(), taints.foreign.begin(), taints.foreign.end());
    change.merge =
        merge_patch(node, std::move(label_patch), std::move(annotations), std::move(taints.list));
    change.status = status_patch(node, desired, now, heartbeat);
    return change;
}

Change clear_node(const k8s::Node& node) {
    DesiredNode desired;
    for (const char* const annotation : kAnnotations) desired.annotations[annotation] = "";
    for (const char* const type : kConditions) desired.ended.emplace_back(type);
    if (node.annotations.contains(kAgent)) desired.answers[kMigStateLabel] = "";
    return change_node(node, desired, {}, {});
}

}  // namespace aliquot::node
