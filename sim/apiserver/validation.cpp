// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>

#include "base/text.h"
#include "k8s/quantity.h"
#include "sim/apiserver/devices.h"
#include "sim/apiserver/names.h"
#include "sim/apiserver/pod_security.h"
#include "sim/apiserver/strategy.h"

namespace aliquot::sim::apiserver {

namespace {

constexpr std::size_t kAnnotationBytesMax = 262'144;

void check(std::vector<Cause>& causes, std::string field, const std::string& value,
           const std::string& why) {
    if (!why.empty()) causes.push_back(invalid_value(std::move(field), value, why));
}

bool has_label_name(const Resource& resource) {
    static const std::set<std::string_view> kLabels = {"/namespaces", "/services"};
    return kLabels.contains(resource.storage);
}

void validate_owners(std::vector<Cause>& causes, const Value& metadata) {
    int controllers = 0;
    const auto& owners = metadata.at("ownerReferences").items();
    for (std::size_t i = 0; i < owners.size(); ++i) {
        const std::string path = "metadata.ownerReferences[" + std::to_string(i) + "]";
        for (const char* field : {"apiVersion", "kind", "name", "uid"}) {
            if (owners[i].at(field).text().empty()) {
                causes.push_back(
                    invalid_value(path + "." + field, owners[i].at(field), "must not be empty"));
            }
        }
        controllers += owners[i].at("controller").boolean() ? 1 : 0;
    }
    if (controllers > 1) {
        causes.push_back(invalid_value("metadata.ownerReferences", metadata.at("ownerReferences"),
                                       "Only one reference can have Controller set to true."));
    }
}

void validate_template(std::vector<Cause>& causes, const Value& object, bool needs_selector) {
    const Value& spec = object.at("spec");
    const Value& selector = spec.at("selector");
    if (needs_selector && selector.empty()) {
        causes.push_back(required("spec.selector"));
    } else if (needs_selector) {
        for (const Member& label : selector.at("matchLabels").members()) {
            const Value& have = spec.at_path("template.metadata.labels").at(label.name);
            if (have == label.value) continue;
            Value labels = spec.at_path("template.metadata.labels");
            causes.push_back(invalid_value("spec.template.metadata.labels", labels,
                                           "`selector` does not match template `labels`"));
            break;
        }
    }
    validate_pod_spec(causes, spec.at_path("template.spec"), "spec.template.spec");
}

void validate_restart(std::vector<Cause>& causes, const Value& object,
                      const std::vector<std::string>& supported) {
    const Value& policy = object.at_path("spec.template.spec.restartPolicy");
    if (policy.text() == "Always" && supported.front() != "Always") {
        // Left out: the default of pods is none for jobs.
        causes.push_back(required("spec.template.spec.restartPolicy",
                                  "valid values: \"" + join(supported, "\", \"") + "\""));
        return;
    }
    if (std::ranges::find(supported, policy.text()) == supported.end()) {
        causes.push_back(unsupported_value("spec.template.spec.restartPolicy", policy, supported));
    }
}

void validate_replicas(std::vector<Cause>& causes, const Value& object) {
    const Value& replicas = object.at_path("spec.replicas");
    if (replicas.integer(0) < 0) {
        causes.push_back(
            invalid_value("spec.replicas", replicas, "must be greater than or equal to 0"));
    }
}

void immutable(std::vector<Cause>& causes, const Value& object, const Value& old,
               const std::string& path) {
    if (!old.is_null() && object.at_path(path) != old.at_path(path)) {
        causes.push_back(invalid_value(path, object.at_path(path), "field is immutable"));
    }
}

/// A running pod: only images, the deadline, tolerations (added) and gates (removed) may change.
void validate_pod_change(std::vector<Cause>& causes, const Call& call, const Value& object,
                         const Value& old) {
    if (call.subresource != nullptr) return;  // resize, ephemeralcontainers
    Value now = object.at("spec");
    Value before = old.at("spec");
    for (Value* spec : {&now, &before}) {
        for (const char* list : {"containers", "initContainers"}) {
            Value* containers = spec->find(list);
            if (containers == nullptr) continue;
            for (Value& one : containers->items()) one.erase("image");
        }
        for (const char* field : {"activeDeadlineSeconds", "tolerations", "schedulingGates",
                                  "terminationGracePeriodSeconds"}) {
            spec->erase(field);
        }
        if (!old.at_path("spec.schedulingGates").empty()) {
            spec->erase("nodeSelector");
            spec->erase("affinity");
        }
    }
    if (now == before) return;
    causes.push_back(forbidden_field(
        "spec",
        "pod updates may not change fields other than `spec.containers[*].image`,"
        "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only "
        "additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be "
        "set to 1 if it was previously negative)"));
}

void validate_service(std::vector<Cause>& causes, const Value& object, const Value& old) {
    const Value& spec = object.at("spec");
    const std::string& type = spec.at("type").text();
    const auto& ports = spec.at("ports").items();
    if (ports.empty() && type != "ExternalName" && spec.at("clusterIP").text() != "None") {
        causes.push_back(required("spec.ports"));
    }
    for (std::size_t i = 0; i < ports.size(); ++i) {
        const std::string path = "spec.ports[" + std::to_string(i) + "]";
        const std::int64_t port = ports[i].at("port").integer();
        if (port < 1 || port > 65535) {
            causes.push_back(invalid_value(path + ".port", ports[i].at("port"),
                                           "must be between 1 and 65535, inclusive"));
        }
        if (ports.size() > 1 && ports[i].at("name").text().empty()) {
            causes.push_back(required(path + ".name"));
        }
    }
    if (!old.is_null() && old.at_path("spec.type") == spec.at("type") && type != "ExternalName") {
        immutable(causes, object, old, "spec.clusterIP");
    }
}

void validate_job(std::vector<Cause>& causes, const Value& object, const Value& old) {
    validate_pod_spec(causes, object.at_path("spec.template.spec"), "spec.template.spec");
    validate_restart(causes, object, {"OnFailure", "Never"});
    const bool suspended =
        old.at_path("spec.suspend").boolean() && old.at_path("status.startTime").is_null();
    immutable(causes, object, old, "spec.selector");
    if (!suspended) immutable(causes, object, old, "spec.template");
    immutable(causes, object, old, "spec.completionMode");
    if (object.at_path("spec.completionMode").text() != "Indexed") {
        immutable(causes, object, old, "spec.completions");
    }
}

void validate_config_map(std::vector<Cause>& causes, const Value& object, const Value& old) {
    for (const char* part : {"data", "binaryData"}) {
        for (const Member& member : object.at(part).members()) {
            const bool good = !member.name.empty() && member.name.size() <= 253 &&
                              std::ranges::all_of(member.name, [](char c) {
                                  return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
                                         c == '-' || c == '_' || c == '.';
                              });
            if (good) continue;
            causes.push_back(invalid_value(
                std::string(part) + "[" + member.name + "]", member.name,
                "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. "
                "'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is "
                "'[-._a-zA-Z0-9]+')"));
        }
    }
    if (!old.at("immutable").boolean()) return;
    for (const char* field : {"data", "binaryData", "immutable"}) {
        if (object.at(field) != old.at(field)) {
            causes.push_back(forbidden_field(field, "field is immutable when `immutable` is set"));
        }
    }
}

void validate_taints(std::vector<Cause>& causes, const Value& object) {
    std::set<std::string> seen;
    const auto& taints = object.at_path("spec.taints").items();
    for (std::size_t i = 0; i < taints.size(); ++i) {
        const std::string path = "spec.taints[" + std::to_string(i) + "]";
        check(causes, path + ".key", taints[i].at("key").text(),
              check_label_key(taints[i].at("key").text()));
        const std::string& effect = taints[i].at("effect").text();
        if (effect != "NoSchedule" && effect != "PreferNoSchedule" && effect != "NoExecute") {
            causes.push_back(unsupported_value(path + ".effect", effect,
                                               {"NoExecute", "NoSchedule", "PreferNoSchedule"}));
        }
        if (!seen.insert(taints[i].at("key").text() + ":" + effect).second) {
            causes.push_back(duplicate_value(path, taints[i]));
        }
    }
}

void validate_kind(std::vector<Cause>& causes, const Call& call, const Value& object,
                   const Value& old) {
    const std::string& storage = call.resource->storage;
    if (storage == "/pods") {
        validate_pod_spec(causes, object.at("spec"), "spec");
        if (!old.is_null()) validate_pod_change(causes, call, object, old);
    } else if (storage == "/nodes") {
        validate_taints(causes, object);
    } else if (storage == "/services") {
        validate_service(causes, object, old);
    } else if (storage == "/configmaps" || storage == "/secrets") {
        validate_config_map(causes, object, old);
        if (storage == "/secrets") immutable(causes, object, old, "type");
    } else if (storage == "apps/deployments" || storage == "apps/replicasets" ||
               storage == "apps/statefulsets" || storage == "apps/daemonsets") {
        validate_replicas(causes, object);
        validate_template(causes, object, true);
        validate_restart(causes, object, {"Always"});
        immutable(causes, object, old, "spec.selector");
    } else if (storage == "batch/jobs") {
        validate_job(causes, object, old);
    } else if (storage == "batch/cronjobs") {
        if (object.at_path("spec.schedule").text().empty())
            causes.push_back(required("spec.schedule"));
        validate_pod_spec(causes, object.at_path("spec.jobTemplate.spec.template.spec"),
                          "spec.jobTemplate.spec.template.spec");
    } else if (storage == "rbac.authorization.k8s.io/rolebindings" ||
               storage == "rbac.authorization.k8s.io/clusterrolebindings") {
        if (!old.is_null() && object.at("roleRef") != old.at("roleRef")) {
            causes.push_back(
                invalid_value("roleRef", object.at("roleRef"), "cannot change roleRef"));
        }
        if (object.at_path("roleRef.name").text().empty())
            causes.push_back(required("roleRef.name"));
    } else if (storage == "coordination.k8s.io/leases") {
        const Value& seconds = object.at_path("spec.leaseDurationSeconds");
        if (!seconds.is_null() && seconds.integer() <= 0) {
            causes.push_back(
                invalid_value("spec.leaseDurationSeconds", seconds, "must be greater than 0"));
        }
    } else if (storage == "scheduling.k8s.io/priorityclasses" && !old.is_null()) {
        if (object.at("value") != old.at("value")) {
            causes.push_back(forbidden_field("value", "may not be changed in an update."));
        }
    }
}

}  // namespace

void validate_metadata(std::vector<Cause>& causes, const Resource& resource, const Value& object) {
    const Value& metadata = object.at("metadata");
    const std::string& name = metadata.at("name").text();
    std::string why;
    if (has_label_name(resource)) {
        why = check_dns_label(name);
    } else if (resource.group == "rbac.authorization.k8s.io") {
        why = check_path_segment(name);
    } else {
        why = check_dns_subdomain(name);
    }
    check(causes, "metadata.name", name, why);
    for (const Member& label : metadata.at("labels").members()) {
        check(causes, "metadata.labels", label.name, check_label_key(label.name));
        check(causes, "metadata.labels", label.value.text(), check_label_value(label.value.text()));
    }
    if (resource.storage == "/namespaces") {
        validate_pod_security_labels(causes, metadata.at("labels"));
    }
    std::size_t size = 0;
    for (const Member& one : metadata.at("annotations").members()) {
        check(causes, "metadata.annotations", one.name, check_label_key(lower(one.name)));
        size += one.name.size() + one.value.text().size();
    }
    if (size > kAnnotationBytesMax) {
        causes.push_back({"FieldValueTooLong", "Too long: may not be more than 262144 bytes",
                          "metadata.annotations"});
    }
    const auto& finalizers = metadata.at("finalizers").items();
    for (std::size_t i = 0; i < finalizers.size(); ++i) {
        const std::string& text = finalizers[i].text();
        const bool known = text == "foregroundDeletion" || text == "orphan" || text == "kubernetes";
        if (!known && check_label_key(text).empty() && text.find('/') == std::string::npos) {
            causes.push_back(invalid_value("metadata.finalizers[" + std::to_string(i) + "]", text,
                                           "name is neither a standard finalizer name nor is it "
                                           "fully qualified"));
        } else if (!known) {
            check(causes, "metadata.finalizers[" + std::to_string(i) + "]", text,
                  check_label_key(text));
        }
    }
    validate_owners(causes, metadata);
}

std::vector<Cause> validate_object(const Call& call, const Value& object, const Value& old) {
    std::vector<Cause> causes;
    validate_metadata(causes, *call.resource, object);
    if (!old.is_null() && !old.at_path("metadata.deletionTimestamp").is_null()) {
        for (const Value& one : object.at_path("metadata.finalizers").items()) {
            const auto& before = old.at_path("metadata.finalizers").items();
            if (std::ranges::find(before, one) != before.end()) continue;
            causes.push_back(forbidden_field(
                "metadata.finalizers",
                "no new finalizers can be added if the object is being deleted, found new "
                "finalizers []string{\"" +
                    one.text() + "\"}"));
        }
    }
    if (call.resource->group == "resource.k8s.io") {
        validate_devices(causes, call, object, old);
    } else if (call.resource->custom) {
        validate_schema(causes, object, *call.resource->type, "");
    } else if (call.resource->storage == "apiextensions.k8s.io/customresourcedefinitions") {
        for (Cause& cause : validate_definition(object)) causes.push_back(std::move(cause));
    } else if (call.subresource == nullptr || call.subresource->name != "status") {
        validate_kind(causes, call, object, old);
    }
    return causes;
}

}  // namespace aliquot::sim::apiserver
