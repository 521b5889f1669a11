// SPDX-License-Identifier: Apache-2.0
#include "scaling/discovery.h"

#include <algorithm>
#include <array>
#include <vector>

#include "document/json.h"
#include "document/write.h"

namespace aliquot::scaling {
namespace {

using document::append;
using document::make_bool;
using document::make_mapping;
using document::make_sequence;
using document::make_string;
using document::Node;

constexpr std::array<WorkloadKind, 5> kWorkloads{{
    {"deployments.apps", "Deployment", "apps/v1"},
    {"statefulsets.apps", "StatefulSet", "apps/v1"},
    {"replicasets.apps", "ReplicaSet", "apps/v1"},
    {"daemonsets.apps", "DaemonSet", "apps/v1"},
    {"jobs.batch", "Job", "batch/v1"},
}};

Node text(std::string_view word) { return make_string(std::string(word)); }

Node version_node(const std::string& group, std::string_view version) {
    Node node = make_mapping();
    append(node, "groupVersion", text(group + "/" + std::string(version)));
    append(node, "version", text(version));
    return node;
}

Node resource_node(const std::string& name, bool namespaced, std::string_view kind) {
    Node node = make_mapping();
    append(node, "name", text(name));
    append(node, "singularName", text(""));
    append(node, "namespaced", make_bool(namespaced));
    append(node, "kind", text(kind));
    Node verbs = make_sequence();
    verbs.items.push_back(text("get"));
    append(node, "verbs", std::move(verbs));
    return node;
}

}  // namespace

const WorkloadKind* find_workload_kind(std::string_view resource) {
    const auto* const found =
        std::find_if(kWorkloads.begin(), kWorkloads.end(),
                     [&](const WorkloadKind& kind) { return kind.resource == resource; });
    return found == kWorkloads.end() ? nullptr : found;
}

ApiAnswer group_document(std::string_view group) {
    const std::string name(group);
    std::vector<std::string_view> versions{"v1beta1"};
    if (group == kCustomGroup) versions.insert(versions.begin(), "v1beta2");
    Node root = make_mapping();
    append(root, "kind", text("APIGroup"));
    append(root, "apiVersion", text("v1"));
    append(root, "name", text(name));
    Node list = make_sequence();
    for (const std::string_view version : versions) {
        list.items.push_back(version_node(name, version));
    }
    append(root, "versions", std::move(list));
    append(root, "preferredVersion", version_node(name, versions.front()));
    return {.body = document::to_json(root)};
}

ApiAnswer resource_document(std::string_view group, std::string_view version) {
    Node root = make_mapping();
    append(root, "kind", text("APIResourceList"));
    append(root, "apiVersion", text("v1"));
    append(root, "groupVersion", text(std::string(group) + "/" + std::string(version)));
    Node list = make_sequence();
    for (const MetricInfo& info : metrics()) {
        const std::string metric(info.name);
        if (group == kExternalGroup) {
            list.items.push_back(resource_node(metric, true, "ExternalMetricValueList"));
            continue;
        }
        list.items.push_back(resource_node("pods/" + metric, true, "MetricValueList"));
        for (const WorkloadKind& kind : kWorkloads) {
            list.items.push_back(
                resource_node(std::string(kind.resource) + "/" + metric, true, "MetricValueList"));
        }
        list.items.push_back(resource_node("namespaces/" + metric, false, "MetricValueList"));
        list.items.push_back(resource_node("nodes/" + metric, false, "MetricValueList"));
    }
    append(root, "resources", std::move(list));
    return {.body = document::to_json(root)};
}

}  // namespace aliquot::scaling
