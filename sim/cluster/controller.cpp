// SPDX-License-Identifier: Apache-2.0
#include "sim/cluster/controller.h"

#include <algorithm>
#include <array>

#include "k8s/names.h"
#include "sim/cluster/affinity.h"
#include "sim/cluster/pod_spec.h"
#include "sim/cluster/scheduler.h"

namespace aliquot::sim::cluster {
namespace {

using document::Value;

constexpr auto kObjectFields =
    std::to_array<std::string_view>({"apiVersion", "kind", "metadata", "spec", "status"});
constexpr auto kMetadataFields = std::to_array<std::string_view>(
    {"annotations", "creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp",
     "finalizers", "generateName", "generation", "labels", "managedFields", "name", "namespace",
     "ownerReferences", "resourceVersion", "selfLink", "uid"});
constexpr auto kTemplateFields = std::to_array<std::string_view>({"metadata", "spec"});
constexpr auto kSelectorFields =
    std::to_array<std::string_view>({"matchExpressions", "matchLabels"});
constexpr auto kDeploymentFields = std::to_array<std::string_view>(
    {"minReadySeconds", "paused", "progressDeadlineSeconds", "replicas", "revisionHistoryLimit",
     "selector", "strategy", "template"});
constexpr auto kReplicaSetFields =
    std::to_array<std::string_view>({"minReadySeconds", "replicas", "selector", "template"});
constexpr auto kStatefulSetFields = std::to_array<std::string_view>(
    {"minReadySeconds", "ordinals", "persistentVolumeClaimRetentionPolicy", "podManagementPolicy",
     "replicas", "revisionHistoryLimit", "selector", "serviceName", "template", "updateStrategy",
     "volumeClaimTemplates"});
constexpr auto kDaemonSetFields = std::to_array<std::string_view>(
    {"minReadySeconds", "revisionHistoryLimit", "selector", "template", "updateStrategy"});
constexpr auto kJobFields = std::to_array<std::string_view>(
    {"activeDeadlineSeconds", "backoffLimit", "backoffLimitPerIndex", "completionMode",
     "completions", "managedBy", "manualSelector", "maxFailedIndexes", "parallelism",
     "podFailurePolicy", "podReplacementPolicy", "selector", "successPolicy", "suspend", "template",
     "ttlSecondsAfterFinished"});

constexpr std::int64_t kMaxPods = 1000;  // of one workload on one node

std::span<const std::string_view> fields_of(WorkloadKind kind) {
    switch (kind) {
        case WorkloadKind::kDeployment:
            return kDeploymentFields;
        case WorkloadKind::kReplicaSet:
            return kReplicaSetFields;
        case WorkloadKind::kStatefulSet:
            return kStatefulSetFields;
        case WorkloadKind::kDaemonSet:
            return kDaemonSetFields;
        case WorkloadKind::kJob:
            return kJobFields;
        case WorkloadKind::kPod:
            break;
    }
    return {};
}

std::map<std::string, std::string> read_labels(ObjectReader& metadata) {
    std::map<std::string, std::string> labels = metadata.text_map("labels");
    for (const auto& label : labels) check_label(metadata, "labels", label.first, label.second);
    return labels;
}

void read_metadata(Diagnostics& report, const Value& node, Workload& workload) {
    ObjectReader metadata(report, node, "metadata", kMetadataFields);
    workload.pod.labels = read_labels(metadata);
    metadata.text_map("annotations");
    workload.name = metadata.required_text("name");
    if (!workload.name.empty() && !k8s::is_dns_subdomain(workload.name)) {
        metadata.complain("name", "'" + workload.name +
                                      "' must be lower-case letters, digits, '-' and '.', at most "
                                      "253");
    }
    const std::string name_space = metadata.text("namespace");
    if (!name_space.empty()) workload.pod_namespace = name_space;
    if (!k8s::is_dns_label(workload.pod_namespace)) {
        metadata.complain("namespace", "'" + name_space + "' cannot be the name of a namespace");
    }
}

PodTemplate read_template(ObjectReader& spec) {
    PodTemplate pod;
    const Value* const node = spec.required_mapping("template");
    if (node == nullptr) return pod;
    ObjectReader object(spec.report(), *node, spec.path_of("template"), kTemplateFields);
    const Value* const pod_spec = object.required_mapping("spec");
    if (pod_spec != nullptr) pod = read_pod_spec(spec.report(), *pod_spec, object.path_of("spec"));
    if (const Value* const metadata = object.mapping("metadata")) {
        ObjectReader meta(spec.report(), *metadata, object.path_of("metadata"), kMetadataFields);
        pod.labels = read_labels(meta);
        meta.text_map("annotations");
    }
    return pod;
}

/// The selector must be there and choose the pods of the template.
void check_selector(ObjectReader& spec, const PodTemplate& pod) {
    const Value* const node = spec.required_mapping("selector");
    if (node == nullptr) return;
    ObjectReader selector(spec.report(), *node, spec.path_of("selector"), kSelectorFields);
    std::vector<k8s::Requirement> rules = read_requirements(selector, "matchExpressions");
    for (const auto& label : selector.text_map("matchLabels")) {
        rules.push_back({.key = label.first, .values = {label.second}});
    }
    if (rules.empty()) {
        spec.complain("selector", "is empty; it must have the labels of the template");
        return;
    }
    for (const k8s::Requirement& rule : rules) {
        if (k8s::holds(rule, pod.labels)) continue;
        const auto label = pod.labels.find(rule.key);
        const std::string found = label == pod.labels.end()
                                      ? "has no label " + rule.key
                                      : "has " + rule.key + "=" + label->second;
        spec.complain("selector", to_text(rule) +
                                      " does not choose the pods of the template, which " + found +
                                      "; give the same label in " + spec.path_of("template") +
                                      ".metadata.labels");
    }
}

void read_job(ObjectReader& spec, Workload& workload) {
    const auto count = [&](std::string_view key, unsigned otherwise) {
        return static_cast<unsigned>(spec.integer(key, 0, kMaxPods).value_or(otherwise));
    };
    workload.parallelism = count("parallelism", 1);
    workload.replicas = count("completions", std::max(workload.parallelism, 1U));
    workload.backoff_limit = count("backoffLimit", workload.backoff_limit);
    const Value* const node = spec.mapping("template");
    const Value* const pod = node == nullptr ? nullptr : node->find("spec");
    if (pod == nullptr || !pod->is_mapping()) return;
    const Value* const policy = pod->find("restartPolicy");
    if (policy == nullptr || policy->scalar == "Always") {
        spec.report().problem(policy == nullptr ? pod->mark : policy->mark,
                              spec.path_of("template.spec.restartPolicy") +
                                  ": of a Job it must be OnFailure or Never" +
                                  (policy == nullptr ? ", and is missing" : ""));
    }
}

void check_always(ObjectReader& spec, const PodTemplate& pod) {
    if (pod.restart_policy == RestartPolicy::kAlways) return;
    const Value* const policy = spec.find("template")->find("spec")->find("restartPolicy");
    spec.report().problem(policy->mark, spec.path_of("template.spec.restartPolicy") +
                                            ": must be Always here; use a Job for work that ends");
}

}  // namespace

Workload read_workload(Diagnostics& report, const Value& node, WorkloadKind kind) {
    Workload workload{.kind = kind};
    ObjectReader object(report, node, "", kObjectFields);
    if (const Value* const metadata = object.required_mapping("metadata")) {
        read_metadata(report, *metadata, workload);
    }
    const Value* const spec_node = object.required_mapping("spec");
    if (spec_node == nullptr) return workload;
    if (kind == WorkloadKind::kPod) {
        auto labels = std::move(workload.pod.labels);
        workload.pod = read_pod_spec(report, *spec_node, "spec");
        workload.pod.labels = std::move(labels);
        return workload;
    }
    ObjectReader spec(report, *spec_node, "spec", fields_of(kind));
    workload.pod = read_template(spec);
    if (kind == WorkloadKind::kJob) {
        read_job(spec, workload);
        return workload;
    }
    check_selector(spec, workload.pod);
    check_always(spec, workload.pod);
    if (kind != WorkloadKind::kDaemonSet) {
        workload.replicas =
            static_cast<unsigned>(spec.integer("replicas", 0, kMaxPods).value_or(1));
    }
    return workload;
}

}  // namespace aliquot::sim::cluster
