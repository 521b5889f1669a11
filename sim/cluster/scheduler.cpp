// SPDX-License-Identifier: Apache-2.0
#include "sim/cluster/scheduler.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace aliquot::sim::cluster {
namespace {

using Operator = LabelRule::Operator;

std::string join(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
    return text;
}

std::optional<long> number_in(const std::string& text) {
    long number = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, problem] = std::from_chars(text.data(), end, number);
    if (problem != std::errc{} || stop != end) return std::nullopt;
    return number;
}

bool compares(const LabelRule& rule, const std::string& value) {
    const auto have = number_in(value);
    const auto want = rule.values.empty() ? std::nullopt : number_in(rule.values.front());
    if (!have || !want) return false;
    return rule.op == Operator::kGreater ? *have > *want : *have < *want;
}

/// What the node has instead of what `rule` wants, and how to give it.
std::string mismatch(const LabelRule& rule, const Labels& labels) {
    const auto label = labels.find(rule.key);
    std::string text = label == labels.end() ? "the node has no label " + rule.key
                                             : "the node has " + rule.key + "=" + label->second;
    text += ", the pod wants " + to_text(rule);
    const bool from_driver = rule.key.starts_with("nvidia.com/") && label != labels.end();
    if ((rule.op == Operator::kIn || rule.op == Operator::kExists) && !from_driver) {
        text += "; give it with --node-label " + rule.key + "=" +
                (rule.values.empty() ? "VALUE" : rule.values.front());
    }
    return text;
}

const LabelRule* first_unmet(const std::vector<LabelRule>& rules, const Labels& labels) {
    const auto unmet =
        std::ranges::find_if(rules, [&](const LabelRule& rule) { return !matches(rule, labels); });
    return unmet == rules.end() ? nullptr : &*unmet;
}

/// The rule that keeps this pod off the node; nullptr when there is none.
const LabelRule* unmet_rule(const PodTemplate& pod, const Labels& labels) {
    // A term without rules matches nothing; the API accepts it.
    static const LabelRule nothing{.key = "(an empty term)", .op = Operator::kExists};
    if (const LabelRule* const rule = first_unmet(pod.node_selector, labels)) return rule;
    const LabelRule* unmet = nullptr;
    for (const std::vector<LabelRule>& term : pod.node_affinity) {
        const LabelRule* const rule = term.empty() ? &nothing : first_unmet(term, labels);
        if (rule == nullptr) return nullptr;
        if (unmet == nullptr) unmet = rule;
    }
    return unmet;
}

std::string not_offered(const std::string& name, const NodeView& node) {
    std::vector<std::string> names;
    for (const auto& resource : node.resources) names.push_back(resource.first);
    return name + " is not offered by this node (" +
           (names.empty() ? "it offers no GPU" : "it offers " + join(names)) + ")";
}

std::string shortage(unsigned wanted, const OfferedResource& resource) {
    const std::string what = resource.shared ? "shares" : "GPUs";
    const unsigned total = resource.allocatable + resource.unhealthy;
    std::string text;
    if (wanted > resource.allocatable) {
        text = "the pod wants " + std::to_string(wanted) + " " + what + ", the node has " +
               std::to_string(total);
    } else {
        text = std::to_string(resource.used) + " of " + std::to_string(resource.allocatable) + " " +
               what + " in use by " + join(resource.holders);
        if (wanted > 1) text += ", the pod wants " + std::to_string(wanted);
    }
    if (resource.unhealthy > 0) text += ", " + std::to_string(resource.unhealthy) + " unhealthy";
    return text;
}

}  // namespace

bool matches(const LabelRule& rule, const Labels& labels) {
    const auto label = labels.find(rule.key);
    const bool there = label != labels.end();
    const auto listed = [&] {
        return there && std::ranges::find(rule.values, label->second) != rule.values.end();
    };
    switch (rule.op) {
        case Operator::kIn:
            return listed();
        case Operator::kNotIn:
            return !listed();
        case Operator::kExists:
            return there;
        case Operator::kDoesNotExist:
            return !there;
        case Operator::kGreater:
        case Operator::kLess:
            return there && compares(rule, label->second);
    }
    return false;
}

std::string to_text(const LabelRule& rule) {
    switch (rule.op) {
        case Operator::kIn:
            return rule.values.size() == 1 ? rule.key + "=" + rule.values.front()
                                           : rule.key + " in (" + join(rule.values) + ")";
        case Operator::kNotIn:
            return rule.key + " not in (" + join(rule.values) + ")";
        case Operator::kExists:
            return rule.key;
        case Operator::kDoesNotExist:
            return "!" + rule.key;
        case Operator::kGreater:
            return rule.key + " > " + join(rule.values);
        case Operator::kLess:
            return rule.key + " < " + join(rule.values);
    }
    return rule.key;
}

std::map<std::string, unsigned> devices_of(const PodTemplate& pod) {
    std::map<std::string, unsigned> sum;
    for (const Container& container : pod.containers) {
        for (const auto& device : container.devices) sum[device.first] += device.second;
    }
    for (const Container& container : pod.init_containers) {
        for (const auto& device : container.devices) {
            sum[device.first] = std::max(sum[device.first], device.second);
        }
    }
    return sum;
}

std::string why_pending(const PodTemplate& pod, const NodeView& node) {
    if (const LabelRule* const rule = unmet_rule(pod, node.labels)) {
        return "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector: " +
               mismatch(*rule, node.labels);
    }
    for (const auto& device : devices_of(pod)) {
        const std::string insufficient =
            "0/1 nodes are available: 1 Insufficient " + device.first + ": ";
        const auto found = node.resources.find(device.first);
        if (found == node.resources.end()) return insufficient + not_offered(device.first, node);
        const OfferedResource& resource = found->second;
        const unsigned free = resource.allocatable - std::min(resource.allocatable, resource.used);
        if (device.second > free) return insufficient + shortage(device.second, resource);
    }
    return {};
}

}  // namespace aliquot::sim::cluster
