// SPDX-License-Identifier: Apache-2.0
#include "sim/cluster/configuration.h"

#include <array>
#include <utility>
#include <vector>

#include "base/base64.h"

namespace aliquot::sim::cluster {
namespace {

using document::Value;

constexpr auto kConfigMapFields = std::to_array<std::string_view>(
    {"apiVersion", "binaryData", "data", "immutable", "kind", "metadata"});
constexpr auto kSecretFields = std::to_array<std::string_view>(
    {"apiVersion", "data", "immutable", "kind", "metadata", "stringData", "type"});

std::string_view name_of(ConfigurationKind kind) {
    return kind == ConfigurationKind::kSecret ? "Secret" : "ConfigMap";
}

void decode(ObjectReader& object, std::map<std::string, std::string>& data) {
    for (auto& [key, value] : data) {
        auto decoded = decode_base64(value);
        if (!decoded) object.complain("data", "the value of '" + key + "' is not base64");
        value = std::move(decoded).value_or("");
    }
}

Remark at(const ConfigurationReference& reference, const std::string& message) {
    return {reference.place.file, reference.place.mark, reference.place.message + ": " + message};
}

Variable literal(std::string name, std::string text) {
    return {.name = std::move(name), .source = Variable::Source::kLiteral, .text = std::move(text)};
}

}  // namespace

void Configuration::add(Diagnostics& report, const Value& node, ConfigurationKind kind) {
    const bool secret = kind == ConfigurationKind::kSecret;
    ObjectReader object(report, node, "",
                        secret ? std::span<const std::string_view>(kSecretFields)
                               : std::span<const std::string_view>(kConfigMapFields));
    const Value* const metadata = object.required_mapping("metadata");
    if (metadata == nullptr) return;
    ObjectReader about(report, *metadata, "metadata", {});
    Key key{kind, about.text("namespace"), about.required_text("name")};
    if (key.pod_namespace.empty()) key.pod_namespace = "default";
    auto data = object.text_map("data");
    if (secret) {
        decode(object, data);
        for (auto& [name, value] : object.text_map("stringData")) data[name] = value;
    }
    if (!objects_.emplace(key, std::move(data)).second) {
        object.complain("metadata", std::string(name_of(kind)) + " '" + key.name +
                                        "' is there twice in namespace '" + key.pod_namespace +
                                        "'");
    }
}

void Configuration::resolve(std::vector<Workload>& workloads, std::vector<Remark>& problems,
                            std::vector<Remark>& notes) const {
    for (Workload& workload : workloads) {
        for (Container& each : workload.pod.init_containers) {
            resolve(workload.pod_namespace, each, problems, notes);
        }
        for (Container& each : workload.pod.containers) {
            resolve(workload.pod_namespace, each, problems, notes);
        }
    }
}

void Configuration::resolve(const std::string& pod_namespace, Container& container,
                            std::vector<Remark>& problems, std::vector<Remark>& notes) const {
    std::vector<Variable> variables;
    for (Variable& variable : container.variables) {
        if (variable.source != Variable::Source::kReference) {
            variables.push_back(std::move(variable));
            continue;
        }
        const ConfigurationReference& reference = variable.reference;
        const std::string subject = std::string(name_of(reference.kind)) + " '" + reference.object +
                                    "' of namespace '" + pod_namespace + "'";
        const bool optional = reference.presence == Presence::kOptional;
        const auto found = objects_.find({reference.kind, pod_namespace, reference.object});
        if (found == objects_.end()) {
            if (!optional && !reference.object.empty()) {
                notes.push_back(
                    at(reference, subject + " is not among the manifests; " +
                                      (reference.key.empty() ? "nothing is set from it"
                                                             : variable.name + " is not set")));
            }
            continue;
        }
        if (reference.key.empty()) {
            for (const auto& [key, value] : found->second) {
                variables.push_back(literal(variable.name + key, value));
            }
            continue;
        }
        const auto value = found->second.find(reference.key);
        if (value != found->second.end()) {
            variables.push_back(literal(std::move(variable.name), value->second));
        } else if (!optional) {
            problems.push_back(at(reference, subject + " has no key '" + reference.key + "'"));
        }
    }
    container.variables = std::move(variables);
}

}  // namespace aliquot::sim::cluster
