// SPDX-License-Identifier: Apache-2.0
#include "doctor/nodes.h"

#include <algorithm>

#include "base/text.h"
#include "doctor/check.h"
#include "k8s/resource_name.h"

namespace aliquot::doctor {
namespace {

std::string plural(std::string_view kind) {
    if (kind == "ResourceQuota") return "quotas";
    for (const std::string_view plain : {"Pod", "Node", "Event"}) {
        if (kind == plain) return lower(kind) + "s";
    }
    return std::string(kind) + (kind.ends_with('s') ? "es" : "s");
}

}  // namespace

std::vector<const Object*> nodes_of(const Facts& facts) {
    std::vector<const Object*> nodes;
    std::string only;
    if (facts.target.kind == Target::Kind::kNode) only = facts.target.name;
    if (facts.target.kind == Target::Kind::kPod) {
        const std::string& pod = facts.target.name;
        const auto slash = std::min(pod.find('/'), pod.size());
        const Object* const found = facts.cluster.find("Pod", pod.substr(0, slash),
                                                       pod.substr(std::min(slash + 1, pod.size())));
        if (found != nullptr) only = node_of(*found);
    }
    for (const Object& node : facts.cluster.all("Node")) {
        if (!only.empty() && node.name != only) continue;
        nodes.push_back(&node);
    }
    return nodes;
}

std::vector<std::string> gpu_resources(const Object& node) {
    std::vector<std::string> names;
    for (const Value::Entry& entry : entries_at(node.body, {"status", "capacity"})) {
        if (k8s::is_nvidia_gpu(entry.first.scalar)) names.push_back(entry.first.scalar);
    }
    return names;
}

std::string label(const Object& node, std::string_view name) {
    const auto labels = labels_of(node);
    const auto found = labels.find(std::string(name));
    return found == labels.end() ? "" : found->second;
}

bool is_this_host(const Facts& facts, const Object& node) {
    for (const char* const path : {"/proc/sys/kernel/hostname", "/etc/hostname"}) {
        const std::string* const text = facts.tree.text(path);
        if (text == nullptr || trim(*text).empty()) continue;
        const std::string_view host = trim(*text);
        return node.name == host || node.name.starts_with(std::string(host) + ".") ||
               host.starts_with(node.name + ".") || label(node, "kubernetes.io/hostname") == host;
    }
    return facts.cluster.all("Node").size() == 1;
}

Verdict no_nodes(const Facts& facts) {
    if (!facts.cluster.asked("Node")) return not_read(facts, {"Node"});
    if (facts.target.kind == Target::Kind::kNode) {
        return unknown("the cluster has no node " + facts.target.name);
    }
    return unknown("the cluster has no node");
}

Verdict not_read(const Facts& facts, std::initializer_list<std::string_view> kinds) {
    std::vector<std::string> names;
    std::vector<std::string> reasons;
    for (const std::string_view kind : kinds) {
        if (facts.cluster.asked(kind)) continue;
        names.push_back(plural(kind));
        const auto refused = facts.cluster.refused.find(kind);
        if (refused != facts.cluster.refused.end() &&
            std::ranges::find(reasons, refused->second) == reasons.end()) {
            reasons.push_back(refused->second);
        }
    }
    return unknown(join(names, " and ") + " were not read" +
                   (reasons.empty() ? "" : ": " + join(reasons, "; ")));
}

std::string agent_config(const Facts& facts) {
    for (const Object& set : facts.cluster.all("DaemonSet")) {
        if (!set.name.starts_with("aliquot-agent")) continue;
        std::string name = "aliquot-config";
        for (const Value& container :
             items_at(set.body, {"spec", "template", "spec", "containers"})) {
            for (const Value& word : items_at(container, {"args"})) {
                constexpr std::string_view kFlag = "--config-map=";
                if (word.scalar.starts_with(kFlag)) name = word.scalar.substr(kFlag.size());
            }
        }
        if (facts.cluster.find("ConfigMap", set.space, name) != nullptr) return name;
    }
    return {};
}

std::string restart_of_plugin(const Facts& facts) {
    for (const Object& set : facts.cluster.all("DaemonSet")) {
        if (!is_plugin_name(set.name) || set.name.contains("mps")) continue;
        return "kubectl -n " + set.space + " rollout restart daemonset " + set.name;
    }
    return "kubectl -n kube-system rollout restart daemonset nvidia-device-plugin-daemonset";
}

}  // namespace aliquot::doctor
