// SPDX-License-Identifier: Apache-2.0
#include "doctor/fit.h"

#include <algorithm>
#include <cstdio>
#include <map>

#include "base/number.h"
#include "base/text.h"
#include "doctor/text.h"

namespace aliquot::doctor {
namespace {

using Miss = NodeFit::Miss;

std::string text_of_amount(double amount) {
    char text[32];
    if (amount >= 1 << 20) {
        std::snprintf(text, sizeof text, "%.1fGi", amount / (1 << 30));
    } else {
        std::snprintf(text, sizeof text, "%.10g", amount);
    }
    return text;
}

bool tolerates(const Object& pod, const Node& taint) {
    const std::string key = text_at(taint, {"key"});
    const std::string effect = text_at(taint, {"effect"});
    for (const Node& one : items_at(pod.body, {"spec", "tolerations"})) {
        const std::string own_key = text_at(one, {"key"});
        const std::string own_effect = text_at(one, {"effect"});
        if (!own_effect.empty() && own_effect != effect) continue;
        if (text_at(one, {"operator"}) == "Exists") {
            if (own_key.empty() || own_key == key) return true;
        } else if (own_key == key && text_at(one, {"value"}) == text_at(taint, {"value"})) {
            return true;
        }
    }
    // Device plugins' admission (ExtendedResourceToleration) is not known here: judged as written.
    return false;
}

void check_taints(const Object& pod, NodeFit& fit) {
    for (const Node& taint : items_at(fit.node->body, {"spec", "taints"})) {
        const std::string effect = text_at(taint, {"effect"});
        if (effect == "PreferNoSchedule" || tolerates(pod, taint)) continue;
        const std::string key = text_at(taint, {"key"});
        const std::string value = text_at(taint, {"value"});
        const bool node_state = key.starts_with("node.kubernetes.io/");
        fit.reasons.push_back(
            {node_state ? Miss::kNotReady : Miss::kTaint,
             concat({"taint ", key, value.empty() ? "" : "=", value, ":", effect,
                     " is not tolerated"}),
             concat({"tolerations: [{key: ", key, ", operator: Exists, effect: ", effect, "}]"}),
             key});
    }
    if (is_true(dig(fit.node->body, {"spec", "unschedulable"}))) {
        fit.reasons.push_back(
            {Miss::kNotReady, "the node is cordoned", "kubectl uncordon " + fit.node->name, ""});
    }
    for (const Node& condition : items_at(fit.node->body, {"status", "conditions"})) {
        if (text_at(condition, {"type"}) == "Ready" && text_at(condition, {"status"}) != "True") {
            fit.reasons.push_back({Miss::kNotReady, "the node is not ready", "", ""});
        }
    }
}

bool matches(const std::map<std::string, std::string>& labels, const Node& expression) {
    const std::string key = text_at(expression, {"key"});
    const std::string verb = text_at(expression, {"operator"});
    const auto found = labels.find(key);
    const bool has = found != labels.end();
    const auto& values = items_at(expression, {"values"});
    const bool in = has && std::ranges::any_of(values, [&](const Node& one) {
                        return one.scalar == found->second;
                    });
    if (verb == "In") return in;
    if (verb == "NotIn") return !in;
    if (verb == "Exists") return has;
    if (verb == "DoesNotExist") return !has;
    if (values.size() != 1 || !has) return false;
    const auto own = parse_number<std::int64_t>(found->second);
    const auto bound = parse_number<std::int64_t>(values[0].scalar);
    if (!own || !bound) return false;
    return verb == "Gt" ? *own > *bound : *own < *bound;
}

std::string text_of(const Node& expression) {
    std::vector<std::string> values;
    for (const Node& one : items_at(expression, {"values"})) values.push_back(one.scalar);
    return text_at(expression, {"key"}) + " " + text_at(expression, {"operator"}) +
           (values.empty() ? "" : " " + join(values, ","));
}

void check_labels(const Object& pod, NodeFit& fit) {
    if (dig(pod.body, {"spec", "nodeSelector"}) == nullptr &&
        dig(pod.body, {"spec", "affinity"}) == nullptr) {
        return;
    }
    const auto labels = labels_of(*fit.node);
    for (const Node::Entry& entry : entries_at(pod.body, {"spec", "nodeSelector"})) {
        const auto found = labels.find(entry.first.scalar);
        if (found != labels.end() && found->second == entry.second.scalar) continue;
        fit.reasons.push_back(
            {Miss::kLabel,
             "nodeSelector " + entry.first.scalar + "=" + entry.second.scalar + ": the node has " +
                 (found == labels.end() ? std::string("no such label") : found->second),
             "kubectl label node " + fit.node->name + " " + entry.first.scalar + "=" +
                 entry.second.scalar + (found == labels.end() ? "" : " --overwrite"),
             entry.first.scalar});
    }
    const auto& terms =
        items_at(pod.body, {"spec", "affinity", "nodeAffinity",
                            "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms"});
    if (terms.empty()) return;
    std::string missing;
    for (const Node& term : terms) {
        std::string failed_one;
        for (const Node& one : items_at(term, {"matchExpressions"})) {
            if (failed_one.empty() && !matches(labels, one)) failed_one = text_of(one);
        }
        const std::map<std::string, std::string> fields{{"metadata.name", fit.node->name}};
        for (const Node& one : items_at(term, {"matchFields"})) {
            if (failed_one.empty() && !matches(fields, one)) failed_one = text_of(one);
        }
        if (failed_one.empty()) return;
        missing = failed_one;
    }
    fit.reasons.push_back({Miss::kLabel, "node affinity: " + missing + " does not hold", "", ""});
}

void check_resources(const Facts& facts, const std::map<std::string, double>& wanted,
                     NodeFit& fit) {
    const auto held = facts.cluster.held.find(fit.node->name);
    fit.offers_gpus = true;
    for (const auto& [name, count] : wanted) {
        if (count <= 0) continue;
        const Node* const entry = dig(fit.node->body, {"status", "allocatable", name});
        const bool gpu = is_gpu_resource(name);
        if (entry == nullptr && !gpu) continue;  // not told
        const double offered = entry == nullptr ? 0 : quantity_of(entry->scalar).value_or(0);
        double left = offered;
        if (held != facts.cluster.held.end()) {
            const auto used = held->second.find(name);
            if (used != held->second.end()) left -= used->second;
        }
        if (gpu && offered < count) fit.offers_gpus = false;
        if (left >= count) continue;
        const std::string asked = text_of_amount(count);
        const std::string there = text_of_amount(offered);
        const std::string text =
            count > offered ? concat({name, ": ", asked, " asked, the node has ", there})
                            : concat({name, ": ", asked, " asked, ",
                                      text_of_amount(std::max(left, 0.0)), " of ", there, " free"});
        fit.reasons.push_back({gpu ? Miss::kGpu : Miss::kOther, text, "", name});
    }
}

}  // namespace

std::vector<NodeFit> fit(const Facts& facts, const Object& pod) {
    std::vector<NodeFit> all;
    auto wanted = requests(pod);
    wanted["pods"] = 1;
    for (const Object& node : facts.cluster.all("Node")) {
        NodeFit one{.node = &node};
        check_taints(pod, one);
        check_labels(pod, one);
        check_resources(facts, wanted, one);
        all.push_back(std::move(one));
    }
    return all;
}

std::vector<const Object*> pending_pods(const Facts& facts) {
    constexpr std::size_t kMost = 50;
    std::vector<const Object*> pods;
    for (const Object& pod : facts.cluster.all("Pod")) {
        if (facts.target.kind == Target::Kind::kPod && pod.id() != facts.target.name) continue;
        const bool waits = phase_of(pod) == "Pending" && node_of(pod).empty();
        const bool ours = !gpu_requests(pod).empty() || facts.target.kind == Target::Kind::kPod ||
                          !items_at(pod.body, {"spec", "resourceClaims"}).empty();
        if (waits && ours && pods.size() < kMost) pods.push_back(&pod);
    }
    return pods;
}

}  // namespace aliquot::doctor
