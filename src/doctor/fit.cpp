// SPDX-License-Identifier: Apache-2.0
#include "doctor/fit.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>

#include "base/number.h"
#include "base/text.h"
#include "doctor/text.h"
#include "k8s/node.h"
#include "k8s/pod.h"
#include "k8s/resource_name.h"

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

void check_taints(const k8s::Pod& pod, const k8s::Node& node, NodeFit& fit) {
    // Device plugins' admission (ExtendedResourceToleration) is not known here: judged as written.
    const bool lost = node.find("Ready") != nullptr && !node.is_ready();
    for (const k8s::Taint& taint : node.taints) {
        if (!taint.keeps_away() || k8s::tolerates(pod.tolerations, taint)) continue;
        // What the node's state says below is told once.
        if (node.is_cordoned && taint.key == "node.kubernetes.io/unschedulable") continue;
        if (lost && (taint.key == "node.kubernetes.io/unreachable" ||
                     taint.key == "node.kubernetes.io/not-ready")) {
            continue;
        }
        const bool node_state = taint.key.starts_with("node.kubernetes.io/");
        fit.reasons.push_back({node_state ? Miss::kNotReady : Miss::kTaint,
                               "taint " + k8s::to_text(taint) + " is not tolerated",
                               concat({"tolerations: [{key: ", taint.key,
                                       ", operator: Exists, effect: ", taint.effect, "}]"}),
                               taint.key, "", ""});
    }
    if (node.is_cordoned) {
        fit.reasons.push_back({Miss::kNotReady, "the node is cordoned",
                               "kubectl uncordon " + fit.node->name, "", "", ""});
    }
    // A Node without conditions was written by hand, and is taken for a ready one.
    if (lost) {
        fit.reasons.push_back({Miss::kNotReady, std::string(kNodeNotReady), "", "", "", ""});
    }
}

std::string text_of(const k8s::Requirement& requirement) {
    return concat({requirement.key, " ", k8s::to_text(requirement.operation),
                   requirement.values.empty() ? "" : " ", join(requirement.values, ",")});
}

/// A label that tells what a machine is: whoever sets it by hand makes the label a lie.
bool is_of_hardware(std::string_view key) {
    constexpr std::array<std::string_view, 14> kKeyPrefixes{"nvidia.com/",
                                                            "feature.node.kubernetes.io/",
                                                            "node.kubernetes.io/",
                                                            "kubernetes.io/",
                                                            "beta.kubernetes.io/",
                                                            "topology.kubernetes.io/",
                                                            "failure-domain.beta.kubernetes.io/",
                                                            "cloud.google.com/",
                                                            "eks.amazonaws.com/",
                                                            "kubernetes.azure.com/",
                                                            "karpenter.",
                                                            "k8s.amazonaws.com/",
                                                            "amd.com/",
                                                            "aliquot.dev/"};
    constexpr std::array<std::string_view, 5> kNameParts{"gpu", "accelerator", "instance-type",
                                                         "zone", "product"};
    const std::string name = lower(key);
    return std::ranges::any_of(kKeyPrefixes,
                               [&](std::string_view one) { return name.starts_with(one); }) ||
           std::ranges::any_of(kNameParts,
                               [&](std::string_view one) { return name.contains(one); });
}

void check_labels(const k8s::NodeSelector& where, const k8s::Labels& labels, NodeFit& fit) {
    if (where.labels.empty() && !where.has_terms) return;
    for (const auto& [key, value] : where.labels) {
        const auto found = labels.find(key);
        if (found != labels.end() && found->second == value) continue;
        fit.reasons.push_back(
            {Miss::kLabel,
             concat({"nodeSelector ", key, "=", value, ": the node has ",
                     found == labels.end() ? "no such label" : found->second}),
             found != labels.end() || is_of_hardware(key)
                 ? std::string()
                 : concat({"kubectl label node ", fit.node->name, " ", key, "=", value}),
             key, value, found == labels.end() ? std::string() : found->second});
    }
    if (!where.has_terms) return;
    std::string missing;
    for (const k8s::NodeSelectorTerm& term : where.terms) {
        if (term.matches(fit.node->name, labels)) return;
        missing = term.empty()
                      ? "a term without expressions, which no node matches"
                      : text_of(*term.first_unmet(fit.node->name, labels)) + " does not hold";
    }
    fit.reasons.push_back({Miss::kLabel, "node affinity: " + missing, "", "", "", ""});
}

void check_resources(const Facts& facts, const k8s::Amounts& wanted, const k8s::Node& node,
                     NodeFit& fit) {
    const k8s::Amounts& allocatable = node.allocatable;
    const auto held = facts.cluster.held.find(fit.node->name);
    fit.offers_gpus = true;
    fit.has_gpus = true;
    for (const auto& [name, count] : wanted) {
        if (count <= 0) continue;
        const auto entry = allocatable.find(name);
        const bool gpu = k8s::is_nvidia_gpu(name);
        if (entry == allocatable.end() && !gpu) continue;  // not told
        const double offered = entry == allocatable.end() ? 0 : entry->second;
        double left = offered;
        if (held != facts.cluster.held.end()) {
            const auto used = held->second.find(name);
            if (used != held->second.end()) left -= used->second;
        }
        const auto built_in = node.capacity.find(name);
        if (gpu && (built_in == node.capacity.end() || built_in->second < count)) {
            fit.has_gpus = false;
        }
        if (gpu && offered < count) fit.offers_gpus = false;
        if (left >= count) continue;
        const std::string asked = text_of_amount(count);
        const std::string there = text_of_amount(offered);
        const std::string text =
            count > offered ? concat({name, ": ", asked, " asked, the node has ", there})
                            : concat({name, ": ", asked, " asked, ",
                                      text_of_amount(std::max(left, 0.0)), " of ", there, " free"});
        fit.reasons.push_back({gpu ? Miss::kGpu : Miss::kOther, text, "", name, "", ""});
    }
}

/// Whether the pod says that it is for this node and not for any: a label beyond the platform's, or a
/// toleration of a taint that keeps others away.
bool is_meant(const k8s::Pod& pod, const k8s::Node& node) {
    const bool selects =
        pod.where.has_terms || std::ranges::any_of(pod.where.labels, [](const auto& label) {
            return label.first != "kubernetes.io/os" && label.first != "kubernetes.io/arch";
        });
    return selects || std::ranges::any_of(node.taints, [](const k8s::Taint& taint) {
               return taint.keeps_away() && !taint.key.starts_with("node.kubernetes.io/");
           });
}

}  // namespace

bool NodeFit::misses(Miss miss) const {
    return std::ranges::any_of(reasons,
                               [miss](const Reason& reason) { return reason.miss == miss; });
}

bool NodeFit::lets_in() const {
    return !misses(Miss::kTaint) && !misses(Miss::kLabel) && !misses(Miss::kNotReady);
}

std::vector<const Object*> meant_nodes(const std::vector<NodeFit>& nodes, const Object& pod) {
    const k8s::Pod read = k8s::read_pod(pod.body);
    std::vector<const Object*> meant;
    for (const NodeFit& one : nodes) {
        if (!one.lets_in()) continue;
        if (one.offers_gpus) return {};
        if (is_gpu_node(*one.node) && is_meant(read, k8s::read_node(one.node->body))) {
            meant.push_back(one.node);
        }
    }
    return meant;
}

std::vector<NodeFit> fit(const Facts& facts, const Object& pod) {
    std::vector<NodeFit> all;
    const k8s::Pod read = k8s::read_pod(pod.body);
    auto wanted = read.requests();
    wanted["pods"] = 1;
    const auto& nodes =
        facts.cluster.every_node.empty() ? facts.cluster.all("Node") : facts.cluster.every_node;
    for (const Object& node : nodes) {
        NodeFit one{.node = &node};
        const k8s::Node offer = k8s::read_node(node.body);
        check_taints(read, offer, one);
        check_labels(read.where, offer.labels, one);
        check_resources(facts, wanted, offer, one);
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
