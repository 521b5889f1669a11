// SPDX-License-Identifier: Apache-2.0
#include "sim/cluster/scheduler.h"

#include <algorithm>

#include "base/text.h"

namespace aliquot::sim::cluster {
namespace {

using k8s::Requirement;
using Operator = Requirement::Operator;

/// What the node has instead of what `rule` wants, and how to give it.
std::string mismatch(const Requirement& rule, const Labels& labels) {
    const auto label = labels.find(rule.key);
    std::string text = label == labels.end() ? "the node has no label " + rule.key
                                             : "the node has " + rule.key + "=" + label->second;
    text += ", the pod wants " + to_text(rule);
    const bool from_driver = rule.key.starts_with("nvidia.com/") && label != labels.end();
    if ((rule.operation == Operator::kIn || rule.operation == Operator::kExists) && !from_driver) {
        text += "; give it with --node-label " + rule.key + "=" +
                (rule.values.empty() ? "VALUE" : rule.values.front());
    }
    return text;
}

/// The rule that keeps this pod off the node; nullptr when there is none.
const Requirement* unmet_rule(const PodTemplate& pod, const NodeView& node) {
    // A term without rules matches nothing; the API accepts it.
    static const Requirement nothing{.key = "(an empty term)", .operation = Operator::kExists};
    if (const auto* const rule = k8s::first_unmet(pod.node_selector, node.labels)) return rule;
    const Requirement* unmet = nullptr;
    for (const k8s::NodeSelectorTerm& term : pod.node_affinity) {
        const Requirement* const rule =
            term.empty() ? &nothing : term.first_unmet(node.name, node.labels);
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

std::string to_text(const k8s::Requirement& rule) {
    switch (rule.operation) {
        case Operator::kIn:
            return rule.values.size() == 1 ? rule.key + "=" + rule.values.front()
                                           : rule.key + " in (" + join(rule.values) + ")";
        case Operator::kNotIn:
            return rule.key + " not in (" + join(rule.values) + ")";
        case Operator::kExists:
            return rule.key;
        case Operator::kDoesNotExist:
            return "!" + rule.key;
        case Operator::kGt:
            return rule.key + " > " + join(rule.values);
        case Operator::kLt:
            return rule.key + " < " + join(rule.values);
        case Operator::kOther:
            break;
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
    if (const Requirement* const rule = unmet_rule(pod, node)) {
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
