// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "document/value.h"
#include "sharing/config.h"

/// What the documents around a sharing configuration are. Inside src/sharing only.
namespace aliquot::sharing {

enum class ObjectKind : std::uint8_t {
    kNothing,     // an empty document
    kConfig,      // the configuration itself, or nothing that we know
    kMigParted,   // `mig-configs:`, for NVIDIA's mig-manager
    kHelmValues,  // values of the gpu-operator or device plugin chart
    kConfigMap,
    kList,           // of Kubernetes objects
    kClusterPolicy,  // gpu-operator's settings as an object
    kDaemonSet,
    kOtherObject,  // some other Kubernetes object
};
ObjectKind kind_of(const document::Value& node);

/// Whether a mapping inside a ConfigMap is meant to be a sharing configuration, right or wrong.
bool looks_like_config(const document::Value& node);
/// The same of a text that cannot be read.
bool looks_like_config(std::string_view broken);

/// The scalar at "metadata.name" and the like, at most as long as a name may be; empty: none is there.
std::string name_at(const document::Value& node, std::string_view path);

/// Which ConfigMap the plugin is told to read.
struct ConfigReference {
    std::string path;  // "devicePlugin.config"
    const document::Value* node = nullptr;
    const document::Value* name = nullptr;
    const document::Value* default_key = nullptr;
    const document::Value* data = nullptr;  // the chart makes the ConfigMap of this
    bool gpu_operator = false;              // else: the device plugin's own chart
    std::string mig_strategy;               // of the operator; empty: not said
};
std::optional<ConfigReference> find_reference(const document::Value& node, ObjectKind kind);

/// The values with the ConfigMap's data inside, so that the chart makes the ConfigMap.
std::string values_with_data(const document::Value& values, const ConfigReference& reference,
                             const document::Value& config_map);

/// A ConfigMap with sharing configurations in it.
struct FoundConfigMap {
    std::string name;
    std::string name_space;  // empty: not said
    document::Mark mark;     // of the namespace, else of the object
    std::vector<std::string> keys;
    std::optional<MigStrategy> mig_strategy;  // of one of its configurations
};

/// A DaemonSet that runs NVIDIA's plugin.
struct PluginDaemonSet {
    std::string name_space;
    std::vector<std::string> words;  // its scalars: the ConfigMaps that it mounts are among them
};

/// Who reads what, as far as one file tells.
struct Wiring {
    std::vector<FoundConfigMap> config_maps;
    std::vector<std::string> other_config_maps;
    std::vector<ConfigReference> references;
    std::vector<PluginDaemonSet> daemon_sets;
};

class Reader;

/// Holds the documents of one file against each other.
void check_wiring(Reader& reader, const Wiring& wiring);

/// Helm values together with further documents.
void check_helm_documents(Reader& reader, std::string_view text,
                          const std::vector<document::Value>& documents);

}  // namespace aliquot::sharing
