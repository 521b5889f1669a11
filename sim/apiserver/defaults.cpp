// SPDX-License-Identifier: Apache-2.0
// Defaults of the built-in kinds, as Kubernetes 1.36 sets them.
#include <functional>
#include <map>

#include "base/base64.h"
#include "sim/apiserver/devices.h"
#include "sim/apiserver/pod_defaults.h"
#include "sim/apiserver/strategy.h"

namespace aliquot::sim::apiserver {

namespace {

void pod(Value& object) { pod_spec_defaults(object["spec"], true); }

void deployment(Value& object) {
    Value& spec = object["spec"];
    set_default(spec, "replicas", 1);
    set_default(spec, "revisionHistoryLimit", 10);
    set_default(spec, "progressDeadlineSeconds", 600);
    Value& strategy = spec["strategy"];
    set_default(strategy, "type", "RollingUpdate");
    if (strategy.at("type").text() == "RollingUpdate") {
        set_default(strategy["rollingUpdate"], "maxSurge", "25%");
        set_default(strategy["rollingUpdate"], "maxUnavailable", "25%");
    }
    template_defaults(spec);
}

void daemon_set(Value& object) {
    Value& spec = object["spec"];
    set_default(spec, "revisionHistoryLimit", 10);
    Value& strategy = spec["updateStrategy"];
    set_default(strategy, "type", "RollingUpdate");
    if (strategy.at("type").text() == "RollingUpdate") {
        set_default(strategy["rollingUpdate"], "maxSurge", 0);
        set_default(strategy["rollingUpdate"], "maxUnavailable", 1);
    }
    template_defaults(spec);
    Value& status = object["status"];
    for (const std::string_view field : {"currentNumberScheduled", "desiredNumberScheduled",
                                         "numberMisscheduled", "numberReady"}) {
        set_default(status, field, 0);
    }
}

void claim_spec_defaults(Value& object) {
    set_default(object["spec"], "volumeMode", "Filesystem");
    set_default(object["status"], "phase", "Pending");
}

void stateful_set(Value& object) {
    Value& spec = object["spec"];
    set_default(spec, "replicas", 1);
    set_default(spec, "revisionHistoryLimit", 10);
    set_default(spec, "podManagementPolicy", "OrderedReady");
    set_default(spec["persistentVolumeClaimRetentionPolicy"], "whenDeleted", "Retain");
    set_default(spec["persistentVolumeClaimRetentionPolicy"], "whenScaled", "Retain");
    Value& strategy = spec["updateStrategy"];
    set_default(strategy, "type", "RollingUpdate");
    if (strategy.at("type").text() == "RollingUpdate") {
        set_default(strategy["rollingUpdate"], "partition", 0);
    }
    template_defaults(spec);
    if (Value* claims = spec.find("volumeClaimTemplates")) {
        for (Value& claim : claims->items()) {
            set_default(claim, "apiVersion", "v1");
            set_default(claim, "kind", "PersistentVolumeClaim");
            claim_spec_defaults(claim);
        }
    }
    set_default(object["status"], "replicas", 0);
    set_default(object["status"], "availableReplicas", 0);
}

void replica_set(Value& object) {
    set_default(object["spec"], "replicas", 1);
    template_defaults(object["spec"]);
    set_default(object["status"], "replicas", 0);
}

void job_spec_defaults(Value& spec) {
    if (spec.at("completions").is_null() && spec.at("parallelism").is_null()) {
        spec["completions"] = 1;
        spec["parallelism"] = 1;
    }
    set_default(spec, "parallelism", 1);
    set_default(spec, "completionMode", "NonIndexed");
    set_default(spec, "suspend", false);
    set_default(spec, "manualSelector", false);
    set_default(spec, "backoffLimit", spec.at("backoffLimitPerIndex").is_null() ? 6 : 2147483647);
    set_default(spec, "podReplacementPolicy",
                spec.at("podFailurePolicy").is_null() ? "TerminatingOrFailed" : "Failed");
    if (Value* rules = spec.find_path("podFailurePolicy.rules")) {
        for (Value& rule : rules->items()) {
            if (Value* conditions = rule.find("onPodConditions")) {
                for (Value& condition : conditions->items())
                    set_default(condition, "status", "True");
            }
        }
    }
    template_defaults(spec);
}

void job(Value& object) { job_spec_defaults(object["spec"]); }

void cron_job(Value& object) {
    Value& spec = object["spec"];
    set_default(spec, "concurrencyPolicy", "Allow");
    set_default(spec, "suspend", false);
    set_default(spec, "successfulJobsHistoryLimit", 3);
    set_default(spec, "failedJobsHistoryLimit", 1);
    Value* jobs = spec.find("jobTemplate");
    if (jobs == nullptr) return;
    if (!jobs->at("metadata").is_object()) (*jobs)["metadata"] = Value::object();
    if (Value* inner = jobs->find("spec")) template_defaults(*inner);
}

void service(Value& object) {
    Value& spec = object["spec"];
    set_default(spec, "sessionAffinity", "None");
    if (spec.at("sessionAffinity").text() == "ClientIP") {
        set_default(spec["sessionAffinityConfig"]["clientIP"], "timeoutSeconds", 10800);
    }
    set_default(spec, "type", "ClusterIP");
    const std::string type = spec.at("type").text();
    if (type == "NodePort" || type == "LoadBalancer")
        set_default(spec, "externalTrafficPolicy", "Cluster");
    if (type == "LoadBalancer") set_default(spec, "allocateLoadBalancerNodePorts", true);
    if (type != "ExternalName") set_default(spec, "internalTrafficPolicy", "Cluster");
    if (Value* ports = spec.find("ports")) {
        for (Value& port : ports->items()) {
            set_default(port, "protocol", "TCP");
            set_default(port, "targetPort", port.at("port"));
        }
    }
    if (!object["status"]["loadBalancer"].is_object()) {
        object["status"]["loadBalancer"] = Value::object();
    }
}

void autoscaler(Value& object) {
    Value& spec = object["spec"];
    set_default(spec, "minReplicas", 1);
    if (spec.at("metrics").is_null()) {
        spec["metrics"].push(Value::object(
            {{"type", "Resource"},
             {"resource",
              Value::object({{"name", "cpu"},
                             {"target", Value::object({{"type", "Utilization"},
                                                       {"averageUtilization", 80}})}})}}));
    }
    set_default(object["status"], "desiredReplicas", 0);
}

void old_autoscaler(Value& object) {
    set_default(object["spec"], "minReplicas", 1);
    set_default(object["status"], "desiredReplicas", 0);
    set_default(object["status"], "currentReplicas", 0);
}

void node(Value& object) {
    set_default(object["status"]["daemonEndpoints"]["kubeletEndpoint"], "Port", 0);
    Value& info = object["status"]["nodeInfo"];
    for (const std::string_view field :
         {"architecture", "bootID", "containerRuntimeVersion", "kernelVersion", "kubeProxyVersion",
          "kubeletVersion", "machineID", "operatingSystem", "osImage", "systemUUID"}) {
        set_default(info, field, "");
    }
    // Capacity that is not said otherwise is allocatable.
    if (object.at_path("status.allocatable").is_null() &&
        !object.at_path("status.capacity").is_null()) {
        object["status"]["allocatable"] = Value(object.at_path("status.capacity"));
    }
}

void role_binding(Value& object) {
    set_default(object["roleRef"], "apiGroup", "rbac.authorization.k8s.io");
    Value* subjects = object.find("subjects");
    if (subjects == nullptr) return;
    for (Value& subject : subjects->items()) {
        if (subject.at("kind").text() == "ServiceAccount") continue;
        set_default(subject, "apiGroup", "rbac.authorization.k8s.io");
    }
}

void definition(Value& object) {
    Value& spec = object["spec"];
    set_default(spec["conversion"], "strategy", "None");
    Value& names = spec["names"];
    const std::string kind = names.at("kind").text();
    std::string singular = kind;
    for (char& c : singular) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
    set_default(names, "singular", singular);
    set_default(names, "listKind", kind + "List");
}

void webhooks(Value& object) {
    Value* hooks = object.find("webhooks");
    if (hooks == nullptr) return;
    const bool mutating = object.at("kind").text() == "MutatingWebhookConfiguration";
    for (Value& hook : hooks->items()) {
        set_default(hook, "failurePolicy", "Fail");
        set_default(hook, "matchPolicy", "Equivalent");
        set_default(hook, "namespaceSelector", Value::object());
        set_default(hook, "objectSelector", Value::object());
        set_default(hook, "timeoutSeconds", 10);
        if (mutating) set_default(hook, "reinvocationPolicy", "Never");
        if (Value* target = hook.find_path("clientConfig.service"))
            set_default(*target, "port", 443);
        if (Value* rules = hook.find("rules")) {
            for (Value& rule : rules->items()) set_default(rule, "scope", "*");
        }
    }
}

void network_policy(Value& object) {
    Value& spec = object["spec"];
    if (spec.at("podSelector").is_null()) spec["podSelector"] = Value::object();
    if (spec.at("policyTypes").is_null()) {
        spec["policyTypes"].push("Ingress");
        if (!spec.at("egress").empty()) spec["policyTypes"].push("Egress");
    }
    for (const std::string_view side : {"ingress", "egress"}) {
        Value* rules = spec.find(side);
        if (rules == nullptr) continue;
        for (Value& rule : rules->items()) {
            if (Value* ports = rule.find("ports")) {
                for (Value& port : ports->items()) set_default(port, "protocol", "TCP");
            }
        }
    }
}

void priority_class(Value& object) {
    set_default(object, "preemptionPolicy", "PreemptLowerPriority");
}
void secret(Value& object) {
    set_default(object, "type", "Opaque");
    // What is given as text is kept as bytes.
    const Value texts = object.at("stringData");
    for (const Member& one : texts.members()) {
        object["data"][one.name] = encode_base64(one.value.text());
    }
    object.erase("stringData");
}
void pod_template(Value& object) { template_defaults(object); }

void limit_range(Value& object) {
    Value* limits = object.find_path("spec.limits");
    if (limits == nullptr) return;
    for (Value& limit : limits->items()) {
        if (limit.at("type").text() != "Container") continue;
        const Value max = limit.at("max");
        for (const Member& one : max.members()) set_default(limit["default"], one.name, one.value);
        const Value defaults = limit.at("default");
        for (const Member& one : defaults.members()) {
            set_default(limit["defaultRequest"], one.name, one.value);
        }
        const Value min = limit.at("min");
        for (const Member& one : min.members())
            set_default(limit["defaultRequest"], one.name, one.value);
    }
}

void storage_class(Value& object) {
    set_default(object, "reclaimPolicy", "Delete");
    set_default(object, "volumeBindingMode", "Immediate");
}

void volume(Value& object) {
    set_default(object["spec"], "persistentVolumeReclaimPolicy", "Retain");
    set_default(object["spec"], "volumeMode", "Filesystem");
    set_default(object["status"], "phase", "Pending");
}

void endpoint_slice(Value& object) {
    Value* ports = object.find("ports");
    if (ports == nullptr) return;
    for (Value& port : ports->items()) {
        set_default(port, "name", "");
        set_default(port, "protocol", "TCP");
    }
}

const std::map<std::string_view, std::function<void(Value&)>>& table() {
    static const std::map<std::string_view, std::function<void(Value&)>> kTable = {
        {"/pods", pod},
        {"/podtemplates", pod_template},
        {"/replicationcontrollers", replica_set},
        {"/services", service},
        {"/nodes", node},
        {"/secrets", secret},
        {"/limitranges", limit_range},
        {"/persistentvolumeclaims", claim_spec_defaults},
        {"/persistentvolumes", volume},
        {"apps/deployments", deployment},
        {"apps/daemonsets", daemon_set},
        {"apps/statefulsets", stateful_set},
        {"apps/replicasets", replica_set},
        {"batch/jobs", job},
        {"batch/cronjobs", cron_job},
        {"rbac.authorization.k8s.io/rolebindings", role_binding},
        {"rbac.authorization.k8s.io/clusterrolebindings", role_binding},
        {"apiextensions.k8s.io/customresourcedefinitions", definition},
        {"admissionregistration.k8s.io/mutatingwebhookconfigurations", webhooks},
        {"admissionregistration.k8s.io/validatingwebhookconfigurations", webhooks},
        {"networking.k8s.io/networkpolicies", network_policy},
        {"scheduling.k8s.io/priorityclasses", priority_class},
        {"storage.k8s.io/storageclasses", storage_class},
        {"discovery.k8s.io/endpointslices", endpoint_slice},
        {"resource.k8s.io/resourceclaims", claim_defaults},
        {"resource.k8s.io/resourceclaimtemplates", claim_template_defaults},
        {"resource.k8s.io/resourceslices", slice_defaults}};
    return kTable;
}

}  // namespace

void apply_defaults(Value& object, const Resource& resource) {
    if (resource.storage == "autoscaling/horizontalpodautoscalers") {
        resource.version == "v2" ? autoscaler(object) : old_autoscaler(object);
    } else if (const auto found = table().find(resource.storage); found != table().end()) {
        found->second(object);
    }
    // Kinds with a status always show one.
    if (resource.find("status") != nullptr && !object.at("status").is_object()) {
        object["status"] = Value::object();
    }
}

}  // namespace aliquot::sim::apiserver
