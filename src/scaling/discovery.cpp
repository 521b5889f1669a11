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
using document::make_mapping;
using document::make_sequence;

constexpr std::array<WorkloadKind, 5> kWorkloads{{
    {"deployments.apps", "Deployment", "apps/v1"},
    {"statefulsets.apps", "StatefulSet", "apps/v1"},
    {"replicasets.apps", "ReplicaSet", "apps/v1"},
    {"daemonsets.apps", "DaemonSet", "apps/v1"},
    {"jobs.batch", "Job", "batch/v1"},
}};

document::Value version_node(const std::string& group, std::string_view version) {
    return make_mapping(
        {{"groupVersion", group + "/" + std::string(version)}, {"version", version}});
}

document::Value resource_node(const std::string& name, bool namespaced, std::string_view kind) {
    return make_mapping({{"name", name},
                         {"singularName", ""},
                         {"namespaced", namespaced},
                         {"kind", kind},
                         {"verbs", std::vector<std::string>{"get"}}});
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
    document::Value root =
        make_mapping({{"kind", "APIGroup"}, {"apiVersion", "v1"}, {"name", name}});
    append(root, "versions", make_sequence(versions, [&](const std::string_view version) {
               return version_node(name, version);
           }));
    append(root, "preferredVersion", version_node(name, versions.front()));
    return {.body = document::to_json(root)};
}

ApiAnswer resource_document(std::string_view group, std::string_view version) {
    document::Value root =
        make_mapping({{"kind", "APIResourceList"},
                      {"apiVersion", "v1"},
                      {"groupVersion", std::string(group) + "/" + std::string(version)}});
    document::Value list = make_sequence();
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
