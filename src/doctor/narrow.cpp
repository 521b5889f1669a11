// SPDX-License-Identifier: Apache-2.0
#include "doctor/narrow.h"

#include <algorithm>
#include <set>
#include <string>

#include "doctor/fit.h"

namespace aliquot::doctor {
namespace {

/// How far a node is from taking the pod; nodes farther off than the nearest are not the pod's.
unsigned distance(const NodeFit& one) {
    return (one.misses(NodeFit::Miss::kNotReady) ? 2U : 0U) +
           (one.misses(NodeFit::Miss::kTaint) ? 1U : 0U);
}

/// Names of the nodes that matter for a pod.
std::set<std::string> nodes_for(const Facts& facts, const Object& pod) {
    if (pod.body.entries.empty()) return {};  // it is gone: what is left is what was said of it
    if (const std::string node = node_of(pod); !node.empty()) return {node};
    std::set<std::string> names;
    const auto nodes = fit(facts, pod);
    for (const Object* const node : meant_nodes(nodes, pod)) names.insert(node->name);
    if (!names.empty()) return names;
    for (bool NodeFit::*const has : {&NodeFit::offers_gpus, &NodeFit::has_gpus}) {
        unsigned nearest = ~0U;
        for (const NodeFit& one : nodes) {
            if (one.misses(NodeFit::Miss::kLabel) || !(one.*has)) continue;
            if (distance(one) > nearest) continue;
            if (distance(one) < nearest) names.clear();
            nearest = distance(one);
            names.insert(one.node->name);
        }
        if (!names.empty()) return names;
    }
    for (const NodeFit& one : nodes) names.insert(one.node->name);
    return names;
}

bool belongs_to_daemon_set(const Object& pod) {
    for (const Value& owner : items_at(pod.body, {"metadata", "ownerReferences"})) {
        if (text_at(owner, {"kind"}) == "DaemonSet") return true;
    }
    return is_plugin_name(pod.name);
}

bool keeps(const std::set<std::string>& nodes, const Object& asked, const Object& pod) {
    if (pod.id() == asked.id()) return true;
    const std::string node = node_of(pod);
    if (nodes.contains(node)) return true;
    // Elsewhere: what serves the whole cluster (a scheduler, a webhook), not what serves its node.
    return !node.empty() && !belongs_to_daemon_set(pod) && gpu_requests(pod).empty();
}

}  // namespace

void narrow_to_pod(Facts& facts, const Object& asked) {
    const Object pod = asked;  // the list it lies in is about to change
    const std::set<std::string> nodes = nodes_for(facts, pod);
    ClusterFacts& cluster = facts.cluster;
    cluster.every_node = cluster.all("Node");
    for (auto& [kind, objects] : cluster.objects) {
        std::erase_if(objects, [&, &kind = kind](const Object& one) {
            if (kind == "Node") return !nodes.contains(one.name);
            if (kind == "Pod") return !keeps(nodes, pod, one);
            for (const char* const owned :
                 {"ResourceQuota", "ResourceClaim", "Job", "CronJob", "Deployment", "ReplicaSet"}) {
                const bool system = is_plugin_name(one.name) || one.name.starts_with("aliquot");
                // A claim of another namespace holds its devices.
                const bool holds = at_path(one.body, {"status", "allocation"}) != nullptr;
                if (kind == owned && one.space != pod.space) return !system && !holds;
            }
            return false;
        });
    }
    const auto kept = [&](const std::string& id) {
        if (id.empty() || id == pod.id()) return true;
        const auto slash = id.find('/');
        const Object* const found = cluster.find(
            "Pod", id.substr(0, slash), slash == std::string::npos ? "" : id.substr(slash + 1));
        return found != nullptr && belongs_to_daemon_set(*found);
    };
    std::erase_if(cluster.said, [&](const Said& one) {
        return !kept(one.pod) || (!one.node.empty() && !nodes.contains(one.node));
    });
    std::erase_if(cluster.logs, [&](const ContainerLog& one) { return !kept(one.pod); });
    index_pods(cluster);
}

}  // namespace aliquot::doctor
