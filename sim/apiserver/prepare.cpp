// SPDX-License-Identifier: Apache-2.0
// What is set or cleared when objects of a kind are made or changed.
#include <algorithm>
#include <set>

#include "base/number.h"
#include "sim/apiserver/devices.h"
#include "sim/apiserver/strategy.h"

namespace aliquot::sim::apiserver {

namespace {

/// Kinds whose metadata.generation counts.
const std::set<std::string_view> kGenerations = {
    "/pods",
    "/replicationcontrollers",
    "apps/deployments",
    "apps/daemonsets",
    "apps/statefulsets",
    "apps/replicasets",
    "batch/jobs",
    "batch/cronjobs",
    "networking.k8s.io/networkpolicies",
    "networking.k8s.io/ingresses",
    "networking.k8s.io/ingressclasses",
    "policy/poddisruptionbudgets",
    "apiextensions.k8s.io/customresourcedefinitions",
    "admissionregistration.k8s.io/mutatingwebhookconfigurations",
    "admissionregistration.k8s.io/validatingwebhookconfigurations",
    "admissionregistration.k8s.io/validatingadmissionpolicies",
    "admissionregistration.k8s.io/validatingadmissionpolicybindings",
    "admissionregistration.k8s.io/mutatingadmissionpolicies",
    "admissionregistration.k8s.io/mutatingadmissionpolicybindings",
    "scheduling.k8s.io/priorityclasses",
    "discovery.k8s.io/endpointslices",
    "resource.k8s.io/resourceslices",
    "resource.k8s.io/deviceclasses"};

/// Guaranteed, Burstable or BestEffort.
std::string quality_of(const Value& spec) {
    bool any = false;
    bool guaranteed = true;
    for (const std::string_view list : {"containers", "initContainers"}) {
        for (const Value& container : spec.at(list).items()) {
            for (const std::string_view name : {"cpu", "memory"}) {
                const Value& request = container.at_path("resources.requests").at(name);
                const Value& limit = container.at_path("resources.limits").at(name);
                any = any || !request.is_null() || !limit.is_null();
                guaranteed =
                    guaranteed && !limit.is_null() && (request.is_null() || request == limit);
            }
        }
    }
    if (!any) return "BestEffort";
    return guaranteed ? "Guaranteed" : "Burstable";
}

void number_job(Value& object) {
    Value& spec = object["spec"];
    if (spec.at("manualSelector").boolean()) return;
    const std::string uid = object.at_path("metadata.uid").text();
    const std::string name = object.at_path("metadata.name").text();
    if (!object.at_path("spec.selector").is_null()) return;
    spec["selector"]["matchLabels"]["batch.kubernetes.io/controller-uid"] = uid;
    const auto label = [&](Value& labels) {
        labels["batch.kubernetes.io/controller-uid"] = uid;
        labels["batch.kubernetes.io/job-name"] = name;
        labels["controller-uid"] = uid;
        labels["job-name"] = name;
    };
    label(spec["template"]["metadata"]["labels"]);
    label(object["metadata"]["labels"]);
}

void address_service(Call& call, Value& object) {
    Value& spec = object["spec"];
    const std::string type = spec.at("type").text();
    if (type == "ExternalName") return;
    const std::lock_guard lock(call.context.addresses_guard);
    if (spec.at("clusterIP").text().empty()) {
        const unsigned number =
            call.dry_run ? call.context.next_address : call.context.next_address++;
        spec["clusterIP"] =
            "10.0." + std::to_string(number / 250 % 250) + "." + std::to_string(number % 250 + 1);
    }
    if (spec.at("clusterIPs").is_null()) spec["clusterIPs"].push(Value(spec.at("clusterIP")));
    if (spec.at("ipFamilies").is_null()) spec["ipFamilies"].push("IPv4");
    if (spec.at("ipFamilyPolicy").is_null()) spec["ipFamilyPolicy"] = "SingleStack";
    if (type != "NodePort" && type != "LoadBalancer") return;
    for (Value& port : spec["ports"].items()) {
        if (port.at("nodePort").integer() == 0) {
            port["nodePort"] = static_cast<std::int64_t>(call.context.next_node_port++);
        }
    }
}

void taint_node(Value& object) {
    auto& taints = object["spec"]["taints"];
    for (const Value& taint : taints.items()) {
        if (taint.at("key").text() == "node.kubernetes.io/not-ready") return;
    }
    taints.push(Value::object({{"key", "node.kubernetes.io/not-ready"}, {"effect", "NoSchedule"}}));
}

/// The status of a new object: what the client says of it does not count.
void first_status(Value& object, const Resource& resource) {
    const std::string& storage = resource.storage;
    if (storage == "/nodes" || storage == "certificates.k8s.io/certificatesigningrequests") return;
    object["status"] = Value::object();
    if (storage == "/pods") {
        object["status"]["phase"] = "Pending";
        object["status"]["qosClass"] = quality_of(object.at("spec"));
    } else if (storage == "/namespaces") {
        object["status"]["phase"] = "Active";
    } else if (resource.custom) {
        object.erase("status");
    }
    if (!resource.custom) apply_defaults(object, resource);
}

void put_back(const Value& old, Value& object, std::string_view name) {
    const Value* before = old.find(name);
    if (before == nullptr) {
        object.erase(name);
    } else {
        object[name] = Value(*before);
    }
}

/// At /status only the status changes (and labels, annotations, finalizers of built-in kinds).
void keep_all_but_status(const Value& old, Value& object, bool custom) {
    const Value status = object.at("status");
    const Value metadata = object.at("metadata");
    object = old;
    if (status.is_null()) {
        object.erase("status");
    } else {
        object["status"] = status;
    }
    Value& place = object["metadata"];
    if (!metadata.at("managedFields").is_null())
        place["managedFields"] = metadata.at("managedFields");
    if (custom) return;
    for (const std::string_view field : {"labels", "annotations", "finalizers"}) {
        const Value& given = metadata.at(field);
        if (given.is_null()) {
            place.erase(field);
        } else {
            place[field] = given;
        }
    }
}

}  // namespace

bool has_generation(const Resource& resource) {
    return resource.custom || kGenerations.contains(resource.storage);
}

bool creates_on_update(const Resource& resource) {
    static const std::set<std::string_view> kThese = {
        "/events",
        "/endpoints",
        "/limitranges",
        "/resourcequotas",
        "coordination.k8s.io/leases",
        "rbac.authorization.k8s.io/roles",
        "rbac.authorization.k8s.io/rolebindings",
        "rbac.authorization.k8s.io/clusterroles",
        "rbac.authorization.k8s.io/clusterrolebindings"};
    return kThese.contains(resource.storage) && resource.storage != "/resourcequotas";
}

bool updates_unconditionally(const Resource& resource) {
    static const std::set<std::string_view> kNot = {
        "coordination.k8s.io/leases",
        "apiextensions.k8s.io/customresourcedefinitions",
        "admissionregistration.k8s.io/mutatingwebhookconfigurations",
        "admissionregistration.k8s.io/validatingwebhookconfigurations",
        "apiregistration.k8s.io/apiservices",
        "policy/poddisruptionbudgets",
        "storage.k8s.io/csinodes",
        "node.k8s.io/runtimeclasses"};
    return !resource.custom && !kNot.contains(resource.storage);
}

void prepare_new(Call& call, Value& object) {
    const Resource& resource = *call.resource;
    if (resource.find("status") != nullptr) first_status(object, resource);
    drop_gated_fields(call, object, Value());
    if (resource.storage == "batch/jobs") number_job(object);
    if (resource.storage == "/services") address_service(call, object);
    if (resource.storage == "/nodes") taint_node(object);
    if (resource.storage == "/namespaces") {
        if (object.at_path("spec.finalizers").is_null()) {
            object["spec"]["finalizers"].push("kubernetes");
        }
        object["metadata"]["labels"]["kubernetes.io/metadata.name"] =
            Value(object.at_path("metadata.name"));
    }
    if (resource.storage == "/persistentvolumeclaims") {
        auto& finalizers = object["metadata"]["finalizers"];
        const Value mark = "kubernetes.io/pvc-protection";
        if (std::ranges::find(finalizers.items(), mark) == finalizers.items().end()) {
            finalizers.push(mark);
        }
    }
    if (resource.storage == "apps/daemonsets") {
        object["metadata"]["annotations"]["deprecated.daemonset.template.generation"] = "1";
    }
}

void prepare_changed(Call& call, const Value& old, Value& object) {
    const Resource& resource = *call.resource;
    if (call.subresource != nullptr && call.subresource->name == "status") {
        keep_all_but_status(old, object, resource.custom);
        return;
    }
    if (call.subresource == nullptr && resource.find("status") != nullptr) {
        put_back(old, object, "status");
    }
    drop_gated_fields(call, object, old);
    if (resource.storage == "/namespaces" && call.subresource == nullptr) {
        if (old.at_path("spec.finalizers").is_null()) {
            object.erase_path("spec.finalizers");
        } else {
            object["spec"]["finalizers"] = Value(old.at_path("spec.finalizers"));
        }
        object["metadata"]["labels"]["kubernetes.io/metadata.name"] =
            Value(old.at_path("metadata.name"));
    }
    if (resource.storage == "/services") {
        for (const std::string_view field :
             {"clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"}) {
            if (object.at("spec").at(field).is_null() && !old.at("spec").at(field).is_null() &&
                object.at_path("spec.type").text() != "ExternalName") {
                object["spec"][field] = Value(old.at("spec").at(field));
            }
        }
        address_service(call, object);
    }
    if (resource.storage == "apps/daemonsets" &&
        object.at_path("spec.template") != old.at_path("spec.template")) {
        Value& mark = object["metadata"]["annotations"]["deprecated.daemonset.template.generation"];
        mark = std::to_string(parse_number<std::int64_t>(mark.text()).value_or(0) + 1);
    }
}

}  // namespace aliquot::sim::apiserver
