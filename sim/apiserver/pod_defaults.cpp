// SPDX-License-Identifier: Apache-2.0
#include "sim/apiserver/pod_defaults.h"

#include <string>
#include <utility>

namespace aliquot::sim::apiserver {

void set_default(Value& object, std::string_view name, Value content) {
    Value& place = object[name];
    if (place.is_null()) place = std::move(content);
}

namespace {

void probe_defaults(Value& container, std::string_view name) {
    Value* probe = container.find(name);
    if (probe == nullptr || !probe->is_object()) return;
    set_default(*probe, "timeoutSeconds", 1);
    set_default(*probe, "periodSeconds", 10);
    set_default(*probe, "successThreshold", 1);
    set_default(*probe, "failureThreshold", 3);
    if (Value* get = probe->find("httpGet")) {
        set_default(*get, "path", "/");
        set_default(*get, "scheme", "HTTP");
    }
    if (Value* grpc = probe->find("grpc")) set_default(*grpc, "service", "");
}

bool wants_latest(const std::string& image) {
    const std::size_t slash = image.rfind('/');
    const std::string name = slash == std::string::npos ? image : image.substr(slash + 1);
    if (name.find('@') != std::string::npos) return false;
    const std::size_t colon = name.rfind(':');
    return colon == std::string::npos || name.substr(colon + 1) == "latest";
}

void env_defaults(Value& container) {
    Value* env = container.find("env");
    if (env == nullptr) return;
    for (Value& one : env->items()) {
        if (Value* ref = one.find_path("valueFrom.fieldRef")) set_default(*ref, "apiVersion", "v1");
        if (Value* ref = one.find_path("valueFrom.resourceFieldRef"))
            set_default(*ref, "divisor", "0");
    }
}

void container_defaults(Value& container, bool requests_too) {
    set_default(container, "imagePullPolicy",
                wants_latest(container.at("image").text()) ? "Always" : "IfNotPresent");
    set_default(container, "terminationMessagePath", "/dev/termination-log");
    set_default(container, "terminationMessagePolicy", "File");
    if (Value* ports = container.find("ports")) {
        for (Value& port : ports->items()) set_default(port, "protocol", "TCP");
    }
    for (const std::string_view probe : {"livenessProbe", "readinessProbe", "startupProbe"}) {
        probe_defaults(container, probe);
    }
    for (const std::string_view hook :
         {"lifecycle.postStart.httpGet", "lifecycle.preStop.httpGet"}) {
        if (Value* get = container.find_path(hook)) {
            set_default(*get, "path", "/");
            set_default(*get, "scheme", "HTTP");
        }
    }
    env_defaults(container);
    set_default(container, "resources", Value::object());
    if (!requests_too) return;
    const Value limits = container.at_path("resources.limits");
    for (const Member& limit : limits.members()) {
        set_default(container["resources"]["requests"], limit.name, limit.value);
    }
}

void source_defaults(Value& source) {
    set_default(source, "defaultMode", 420);
    Value* items = source.find("items");
    if (items == nullptr) return;
    for (Value& item : items->items()) {
        if (Value* ref = item.find("fieldRef")) set_default(*ref, "apiVersion", "v1");
        if (Value* ref = item.find("resourceFieldRef")) set_default(*ref, "divisor", "0");
    }
}

void volume_defaults(Value& volume) {
    if (volume.size() == 1) volume["emptyDir"] = Value::object();  // only a name
    for (const std::string_view name : {"secret", "configMap", "downwardAPI", "projected"}) {
        if (Value* source = volume.find(name)) source_defaults(*source);
    }
    if (Value* sources = volume.find_path("projected.sources")) {
        for (Value& source : sources->items()) {
            if (Value* token = source.find("serviceAccountToken")) {
                set_default(*token, "expirationSeconds", 3600);
            }
            if (Value* items = source.find_path("downwardAPI.items")) {
                for (Value& item : items->items()) {
                    if (Value* ref = item.find("fieldRef")) set_default(*ref, "apiVersion", "v1");
                }
            }
        }
    }
    if (Value* host = volume.find("hostPath")) set_default(*host, "type", "");
    if (Value* image = volume.find("image")) {
        set_default(*image, "pullPolicy",
                    wants_latest(image->at("reference").text()) ? "Always" : "IfNotPresent");
    }
    if (Value* claim = volume.find_path("ephemeral.volumeClaimTemplate.spec")) {
        set_default(*claim, "volumeMode", "Filesystem");
    }
}

}  // namespace

void pod_spec_defaults(Value& spec, bool is_pod) {
    set_default(spec, "dnsPolicy", "ClusterFirst");
    set_default(spec, "restartPolicy", "Always");
    set_default(spec, "schedulerName", "default-scheduler");
    set_default(spec, "securityContext", Value::object());
    set_default(spec, "terminationGracePeriodSeconds", 30);
    if (is_pod) set_default(spec, "enableServiceLinks", true);
    for (const std::string_view list : {"containers", "initContainers", "ephemeralContainers"}) {
        Value* containers = spec.find(list);
        if (containers == nullptr) continue;
        for (Value& one : containers->items()) {
            container_defaults(one, is_pod && list != "ephemeralContainers");
            if (spec.at("hostNetwork").boolean()) {
                if (Value* ports = one.find("ports")) {
                    for (Value& port : ports->items()) {
                        set_default(port, "hostPort", port.at("containerPort"));
                    }
                }
            }
        }
    }
    if (Value* volumes = spec.find("volumes")) {
        for (Value& volume : volumes->items()) volume_defaults(volume);
    }
    // The old and the new name of the same field.
    if (!spec.at("serviceAccountName").is_null()) {
        spec["serviceAccount"] = Value(spec.at("serviceAccountName"));
    } else if (!spec.at("serviceAccount").is_null()) {
        spec["serviceAccountName"] = Value(spec.at("serviceAccount"));
    }
}

void template_defaults(Value& spec) {
    Value* pods = spec.find("template");
    if (pods == nullptr) return;
    if (!pods->at("metadata").is_object()) (*pods)["metadata"] = Value::object();
    if (Value* pod = pods->find("spec")) pod_spec_defaults(*pod, false);
}

}  // namespace aliquot::sim::apiserver
