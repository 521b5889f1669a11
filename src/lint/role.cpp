// SPDX-License-Identifier: Apache-2.0
#include "lint/role.h"

#include <algorithm>
#include <array>

#include "lint/words.h"

namespace aliquot::lint {
namespace {

template <std::size_t N>
int count_keys(const Value& node, const std::array<std::string_view, N>& keys) {
    return static_cast<int>(
        std::count_if(node.entries.begin(), node.entries.end(), [&keys](const Value::Entry& entry) {
            return std::find(keys.begin(), keys.end(), entry.first.scalar) != keys.end();
        }));
}

bool has(const Value& node, std::string_view key) { return node.find(key) != nullptr; }

bool is_mapping_at(const Value& node, std::string_view path) {
    const Value* found = at_path(node, path);
    return found != nullptr && found->is_mapping();
}

bool is_device_plugin_config(const Value& node) {
    if (is_mapping_at(node, "sharing.timeSlicing") || is_mapping_at(node, "sharing.mps"))
        return true;
    if (text_at(node, "version") == "v1" && (has(node, "flags") || has(node, "sharing")))
        return true;
    if (node.entries.size() == 1 && is_mapping_at(node, "sharing.mig")) return true;
    if (text_at(node, "version") == "v1" && is_mapping_at(node, "resources.gpus")) return true;
    const Value* resources = node.find("resources");
    if (text_at(node, "version") == "v1" && resources != nullptr && node.entries.size() == 2 &&
        resources->is_sequence() && !resources->items.empty() &&
        contains(text_at(resources->items.front(), "name"), "nvidia.com/")) {
        return true;
    }
    return node.entries.size() == 1 &&
           (is_mapping_at(node, "timeSlicing") || is_mapping_at(node, "mps"));
}

bool has_rules(const Value& node) {
    const Value* groups = node.find("groups");
    return groups != nullptr && std::any_of(groups->items.begin(), groups->items.end(),
                                            [](const Value& one) { return has(one, "rules"); });
}

constexpr std::array<std::string_view, 22> kOperatorKeys{"operator",
                                                         "driver",
                                                         "toolkit",
                                                         "devicePlugin",
                                                         "dcgm",
                                                         "dcgmExporter",
                                                         "gfd",
                                                         "migManager",
                                                         "mig",
                                                         "nodeStatusExporter",
                                                         "validator",
                                                         "vgpuManager",
                                                         "vfioManager",
                                                         "sandboxDevicePlugin",
                                                         "kataManager",
                                                         "ccManager",
                                                         "cdi",
                                                         "nfd",
                                                         "daemonsets",
                                                         "sandboxWorkloads",
                                                         "vgpuDeviceManager",
                                                         "gds"};
/// Keys that no other chart has.
constexpr std::array<std::string_view, 9> kOperatorOnly{
    "devicePlugin", "dcgmExporter", "migManager",  "nodeStatusExporter", "sandboxDevicePlugin",
    "vgpuManager",  "ccManager",    "vfioManager", "vgpuDeviceManager"};
constexpr std::array<std::string_view, 10> kPluginKeys{
    "migStrategy",           "deviceListStrategy",
    "compatWithCPUManager",  "failOnInitError",
    "nvidiaDriverRoot",      "deviceDiscoveryStrategy",
    "deviceIDStrategy",      "legacyDaemonsetAPI",
    "allowDefaultNamespace", "gfd"};
constexpr std::array<std::string_view, 12> kRunnerKeys{"githubConfigUrl",
                                                       "githubConfigSecret",
                                                       "runnerScaleSetName",
                                                       "minRunners",
                                                       "maxRunners",
                                                       "runnerGroup",
                                                       "runnerLabels",
                                                       "runnerResources",
                                                       "containerMode",
                                                       "listenerTemplate",
                                                       "controllerServiceAccount",
                                                       "runnerImage"};
constexpr std::array<std::string_view, 8> kMonitoringKeys{
    "prometheus",         "alertmanager",       "grafana",
    "kube-state-metrics", "prometheusOperator", "prometheus-node-exporter",
    "defaultRules",       "nodeExporter"};

/// Keys that a piece of an object begins with.
constexpr std::array<std::string_view, 40> kFragmentKeys{"spec",
                                                         "template",
                                                         "containers",
                                                         "initContainers",
                                                         "resources",
                                                         "limits",
                                                         "requests",
                                                         "env",
                                                         "envFrom",
                                                         "nodeSelector",
                                                         "tolerations",
                                                         "affinity",
                                                         "volumes",
                                                         "volumeMounts",
                                                         "metadata",
                                                         "securityContext",
                                                         "runtimeClassName",
                                                         "strategy",
                                                         "restartPolicy",
                                                         "image",
                                                         "command",
                                                         "args",
                                                         "data",
                                                         "replicas",
                                                         "labels",
                                                         "annotations",
                                                         "taints",
                                                         "topologySpreadConstraints",
                                                         "hostIPC",
                                                         "hostPID",
                                                         "updateStrategy",
                                                         "selector",
                                                         "resourceClaims",
                                                         "priorityClassName",
                                                         "status",
                                                         "livenessProbe",
                                                         "readinessProbe",
                                                         "ports",
                                                         "shm_size",
                                                         "schedulerName"};
constexpr std::array<std::string_view, 8> kFragmentOnly{
    "nodeSelector",   "tolerations", "runtimeClassName", "volumeMounts",
    "initContainers", "containers",  "resourceClaims",   "affinity"};

Role role_of_mapping(const Value& node) {
    if (has(node, "apiVersion") && has(node, "kind")) {
        if (text_at(node, "kind") == "Kustomization" &&
            contains(text_at(node, "apiVersion"), "kustomize.config")) {
            return Role::kKustomization;
        }
        return Role::kObject;
    }
    if (has(node, "mig-configs")) {
        return has(node, "flags") || has(node, "sharing") ? Role::kDevicePluginConfig
                                                          : Role::kMigParted;
    }
    if (has_rules(node)) return Role::kPrometheusRules;
    if (has(node, "scrape_configs")) return Role::kPrometheusConfig;
    if (has(node, "panels") &&
        (has(node, "templating") || has(node, "schemaVersion") || has(node, "title"))) {
        return Role::kDashboard;
    }
    if (is_device_plugin_config(node)) return Role::kDevicePluginConfig;
    if (has(node, "jobs") && (has(node, "on") || has(node, "name"))) return Role::kWorkflow;
    if (is_mapping_at(node, "services")) return Role::kCompose;
    if (!chart_of(node).empty()) return Role::kHelmValues;
    if (has(node, "kind") && has(node, "metadata")) return Role::kFragment;
    if (count_keys(node, kFragmentOnly) > 0) return Role::kFragment;
    const int known = count_keys(node, kFragmentKeys);
    if (known > 0 && 2 * known >= static_cast<int>(node.entries.size())) return Role::kFragment;
    return Role::kNothing;
}

}  // namespace

std::string chart_of(const Value& node) {
    if (count_keys(node, kPluginKeys) >= 3) return "nvidia-device-plugin";
    if (is_mapping_at(node, "devicePlugin.config")) return "gpu-operator";
    if (count_keys(node, kOperatorOnly) > 0 &&
        count_keys(node, kOperatorKeys) == static_cast<int>(node.entries.size())) {
        return "gpu-operator";
    }
    if (count_keys(node, kOperatorOnly) > 0 && count_keys(node, kOperatorKeys) >= 2)
        return "gpu-operator";
    if (count_keys(node, kOperatorKeys) >= 3) return "gpu-operator";
    if (is_mapping_at(node, "driver") && has(node, "toolkit")) return "gpu-operator";
    if (is_mapping_at(node, "config.map") || is_mapping_at(node, "config.default") ||
        count_keys(node, kPluginKeys) >= 2 ||
        (count_keys(node, kPluginKeys) == 1 && has(node, "config"))) {
        return "nvidia-device-plugin";
    }
    if (contains(text_at(node, "image.repository"), "k8s-device-plugin"))
        return "nvidia-device-plugin";
    if (contains(text_at(node, "image.repository"), "dcgm-exporter")) return "dcgm-exporter";
    if (is_mapping_at(node, "prometheus.prometheusSpec")) return "kube-prometheus-stack";
    if (count_keys(node, kMonitoringKeys) >= 2) return "kube-prometheus-stack";
    if (has(node, "serviceMonitor") && has(node, "arguments")) return "dcgm-exporter";
    const bool own_runners =  // RunnerDeployments, the older way
        has(node, "organization") || has(node, "enterprise") || has(node, "repository");
    if (count_keys(node, kRunnerKeys) >= (own_runners ? 2 : 1)) return "gha-runner-scale-set";
    return {};
}

bool is_gpu_chart_name(std::string_view key) {
    return key == "gpu-operator" || key == "nvidia-device-plugin" || key == "dcgm-exporter";
}

bool holds_charts(const Value& node) {
    return node.is_mapping() && !has(node, "apiVersion") && !has(node, "services") &&
           std::any_of(node.entries.begin(), node.entries.end(), [](const Value::Entry& entry) {
               return is_gpu_chart_name(entry.first.scalar);
           });
}

Role role_of(const Value& node) {
    if (node.is_mapping()) return role_of_mapping(node);
    if (!node.is_sequence() || node.items.empty() || !node.items.front().is_mapping()) {
        return Role::kNothing;
    }
    const Value& first = node.items.front();
    const bool container = has(first, "image") || has(first, "resources");
    const bool toleration = has(first, "key") && has(first, "effect");
    const bool variable = has(first, "name") && (has(first, "value") || has(first, "valueFrom"));
    return container || toleration || variable ? Role::kFragment : Role::kNothing;
}

}  // namespace aliquot::lint
