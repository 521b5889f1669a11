// SPDX-License-Identifier: Apache-2.0
#include "sharing/config_objects.h"

#include <algorithm>
#include <array>

#include "document/path.h"
#include "document/write.h"
#include "sharing/config_reader.h"

namespace aliquot::sharing {
namespace {

bool is_mapping(const Value* node) { return node != nullptr && node->is_mapping(); }

bool is_helm_values(const Value& node) {
    // Enough of gpu-operator's top level keys to know its values by.
    constexpr std::array<std::string_view, 16> kOperator{
        "devicePlugin", "driver", "toolkit",     "migManager", "dcgmExporter",
        "dcgm",         "gfd",    "mig",         "operator",   "nodeStatusExporter",
        "validator",    "nfd",    "vgpuManager", "cdi",        "sandboxDevicePlugin",
        "psa"};
    const bool of_operator = std::any_of(kOperator.begin(), kOperator.end(),
                                         [&](auto key) { return is_mapping(node.find(key)); });
    if (of_operator) return true;
    const Value* config = node.find("config");  // the device plugin's own chart
    return is_mapping(config) &&
           (config->find("map") != nullptr || config->find("default") != nullptr);
}

void put(Value& mapping, std::string_view key, Value value) {
    for (auto& [name, old] : mapping.entries) {
        if (name.scalar == key) {
            old = std::move(value);
            return;
        }
    }
    document::append(mapping, std::string(key), std::move(value));
}

}  // namespace

std::string name_at(const Value& node, std::string_view path) {
    constexpr std::size_t kLongestName = 253;
    return document::text_at(node, path).substr(0, kLongestName);
}

ObjectKind kind_of(const Value& node) {
    if (node.kind == Value::Kind::kNull) return ObjectKind::kNothing;
    if (!node.is_mapping()) return ObjectKind::kConfig;
    if (node.find("kind") != nullptr && node.find("apiVersion") != nullptr) {
        const std::string kind = name_at(node, "kind");
        if (kind == "ConfigMap") return ObjectKind::kConfigMap;
        if (kind == "ClusterPolicy") return ObjectKind::kClusterPolicy;
        if (kind == "DaemonSet") return ObjectKind::kDaemonSet;
        const Value* items = node.find("items");
        if (items != nullptr && items->is_sequence()) return ObjectKind::kList;
        return ObjectKind::kOtherObject;
    }
    const bool other_keys = node.find("sharing") != nullptr || node.find("flags") != nullptr;
    if (node.find("mig-configs") != nullptr && !other_keys) return ObjectKind::kMigParted;
    if (looks_like_config(node)) return ObjectKind::kConfig;
    return is_helm_values(node) ? ObjectKind::kHelmValues : ObjectKind::kConfig;
}

bool looks_like_config(const Value& node) {
    if (!node.is_mapping()) return false;
    for (const auto* key : {"sharing", "flags", "imex", "timeSlicing", "mps"}) {
        if (find_any_case(node, key) != nullptr) return true;
    }
    const Value* version = find_any_case(node, "version");
    return version != nullptr && (version->scalar == "v1" || version->scalar == "1");
}

bool looks_like_config(std::string_view broken) {
    for (const std::string_view word : {"timeSlicing", "sharing:", "migStrategy"}) {
        if (broken.find(word) != std::string_view::npos) return true;
    }
    return false;
}

std::optional<ConfigReference> find_reference(const Value& node, ObjectKind kind) {
    ConfigReference reference;
    if (kind == ObjectKind::kClusterPolicy) {
        reference.path = "spec.devicePlugin.config";
    } else if (kind == ObjectKind::kHelmValues) {
        reference.path = is_mapping(node.find("devicePlugin")) ? "devicePlugin.config" : "config";
    } else {
        return std::nullopt;
    }
    reference.gpu_operator = reference.path != "config";
    reference.node = document::at_path(node, reference.path);
    if (!is_mapping(reference.node)) return std::nullopt;
    reference.name = reference.node->find("name");
    reference.default_key = reference.node->find("default");
    reference.data = reference.node->find(reference.gpu_operator ? "data" : "map");
    reference.mig_strategy =
        name_at(node, kind == ObjectKind::kClusterPolicy ? "spec.mig.strategy" : "mig.strategy");
    return reference;
}

std::string values_with_data(const Value& values, const ConfigReference& reference,
                             const Value& config_map) {
    const Value* data = config_map.find("data");
    if (!is_mapping(data)) return {};
    Value config = *reference.node;
    if (reference.gpu_operator) {
        Value yes;
        yes.kind = Value::Kind::kBool;
        yes.scalar = "true";
        put(config, "create", std::move(yes));
        put(config, "name", document::make_string(name_at(config_map, "metadata.name")));
        put(config, "data", *data);
    } else {
        config.entries.erase(
            std::remove_if(config.entries.begin(), config.entries.end(),
                           [](const auto& entry) { return entry.first.scalar == "name"; }),
            config.entries.end());
        put(config, "map", *data);
    }
    Value corrected = values;
    if (!reference.gpu_operator) {
        put(corrected, "config", std::move(config));
        return document::to_yaml(corrected);
    }
    Value plugin = *values.find("devicePlugin");
    put(plugin, "config", std::move(config));
    put(corrected, "devicePlugin", std::move(plugin));
    return document::to_yaml(corrected);
}

}  // namespace aliquot::sharing
