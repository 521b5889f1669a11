// SPDX-License-Identifier: Apache-2.0
// What is wrong with a pod's spec.
#include <algorithm>
#include <set>

#include "k8s/quantity.h"
#include "k8s/resource_name.h"
#include "sim/apiserver/names.h"
#include "sim/apiserver/strategy.h"

namespace aliquot::sim::apiserver {

namespace {

std::string at(const std::string& path, std::size_t index) {
    return path + "[" + std::to_string(index) + "]";
}

void validate_resources(std::vector<Cause>& causes, const Value& resources,
                        const std::string& path) {
    for (const char* side : {"limits", "requests"}) {
        for (const Member& one : resources.at(side).members()) {
            const std::string place = path + "." + side + "[" + one.name + "]";
            const bool known = k8s::is_extended_resource(one.name) || one.name == "cpu" ||
                               one.name == "memory" || one.name == "ephemeral-storage" ||
                               one.name.starts_with("hugepages-");
            if (!known) {
                causes.push_back(invalid_value(
                    place, one.name, "must be a standard resource type or fully qualified"));
                causes.push_back(
                    invalid_value(place, one.name, "must be a standard resource for containers"));
            }
            const double value = k8s::quantity_value(one.value.text()).value_or(0);
            if (value < 0) {
                causes.push_back(
                    invalid_value(place, one.value, "must be greater than or equal to 0"));
            }
            if (k8s::is_extended_resource(one.name) &&
                value != static_cast<double>(static_cast<std::int64_t>(value))) {
                causes.push_back(invalid_value(place, one.value, "must be an integer"));
            }
        }
    }
    for (const Member& request : resources.at("requests").members()) {
        const Value* limit = resources.at("limits").find(request.name);
        const std::string place = path + ".requests";
        if (limit == nullptr) {
            if (k8s::is_extended_resource(request.name)) {
                causes.push_back(required(path + ".limits",
                                          "Limit must be set for non overcommitable resources"));
            }
            continue;
        }
        const double wanted = k8s::quantity_value(request.value.text()).value_or(0);
        const double most = k8s::quantity_value(limit->text()).value_or(0);
        if (k8s::is_extended_resource(request.name) && wanted != most) {
            causes.push_back(
                invalid_value(place, request.value,
                              "must be equal to " + request.name + " limit of " + limit->text()));
        } else if (wanted > most) {
            causes.push_back(invalid_value(
                place, request.value,
                "must be less than or equal to " + request.name + " limit of " + limit->text()));
        }
    }
}

void validate_env(std::vector<Cause>& causes, const Value& container, const std::string& path) {
    const auto& env = container.at("env").items();
    for (std::size_t i = 0; i < env.size(); ++i) {
        const std::string& name = env[i].at("name").text();
        if (name.empty()) {
            causes.push_back(required(at(path + ".env", i) + ".name"));
        } else if (const std::string why = check_env_name(name); !why.empty()) {
            causes.push_back(invalid_value(at(path + ".env", i) + ".name", name, why));
        }
    }
}

void validate_container(std::vector<Cause>& causes, const Value& container, const std::string& path,
                        std::set<std::string>& names, const std::set<std::string>& volumes) {
    const std::string& name = container.at("name").text();
    if (name.empty()) {
        causes.push_back(required(path + ".name"));
    } else if (const std::string why = check_dns_label(name); !why.empty()) {
        causes.push_back(invalid_value(path + ".name", name, why));
    } else if (!names.insert(name).second) {
        causes.push_back(duplicate_value(path + ".name", name));
    }
    if (container.at("image").text().empty()) causes.push_back(required(path + ".image"));
    const std::string& pull = container.at("imagePullPolicy").text();
    if (pull != "Always" && pull != "IfNotPresent" && pull != "Never") {
        causes.push_back(unsupported_value(path + ".imagePullPolicy", pull,
                                           {"Always", "IfNotPresent", "Never"}));
    }
    const auto& mounts = container.at("volumeMounts").items();
    for (std::size_t i = 0; i < mounts.size(); ++i) {
        const std::string place = at(path + ".volumeMounts", i);
        const std::string& volume = mounts[i].at("name").text();
        if (!volumes.contains(volume)) {
            causes.push_back(
                {"FieldValueNotFound", "Not found: \"" + volume + "\"", place + ".name"});
        }
        if (mounts[i].at("mountPath").text().empty())
            causes.push_back(required(place + ".mountPath"));
    }
    const auto& ports = container.at("ports").items();
    for (std::size_t i = 0; i < ports.size(); ++i) {
        const std::int64_t port = ports[i].at("containerPort").integer();
        if (port < 1 || port > 65535) {
            causes.push_back(invalid_value(at(path + ".ports", i) + ".containerPort",
                                           ports[i].at("containerPort"),
                                           "must be between 1 and 65535, inclusive"));
        }
    }
    validate_env(causes, container, path);
    validate_resources(causes, container.at("resources"), path + ".resources");
}

}  // namespace

void validate_pod_spec(std::vector<Cause>& causes, const Value& spec, const std::string& path) {
    std::set<std::string> volumes;
    const auto& list = spec.at("volumes").items();
    for (std::size_t i = 0; i < list.size(); ++i) {
        const std::string& name = list[i].at("name").text();
        const std::string place = at(path + ".volumes", i) + ".name";
        if (name.empty()) {
            causes.push_back(required(place));
        } else if (const std::string why = check_dns_label(name); !why.empty()) {
            causes.push_back(invalid_value(place, name, why));
        } else if (!volumes.insert(name).second) {
            causes.push_back(duplicate_value(place, name));
        }
    }
    if (spec.at("containers").empty()) causes.push_back(required(path + ".containers"));
    std::set<std::string> names;
    for (const char* part : {"initContainers", "containers"}) {
        const auto& containers = spec.at(part).items();
        for (std::size_t i = 0; i < containers.size(); ++i) {
            validate_container(causes, containers[i], at(path + "." + part, i), names, volumes);
        }
    }
    const std::string& restart = spec.at("restartPolicy").text();
    if (restart != "Always" && restart != "OnFailure" && restart != "Never") {
        causes.push_back(
            unsupported_value(path + ".restartPolicy", restart, {"Always", "OnFailure", "Never"}));
    }
    for (const Member& label : spec.at("nodeSelector").members()) {
        if (const std::string why = check_label_key(label.name); !why.empty()) {
            causes.push_back(invalid_value(path + ".nodeSelector", label.name, why));
        }
        if (const std::string why = check_label_value(label.value.text()); !why.empty()) {
            causes.push_back(invalid_value(path + ".nodeSelector", label.value, why));
        }
    }
}

}  // namespace aliquot::sim::apiserver
