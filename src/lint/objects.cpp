// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <utility>

#include "lint/reading.h"
#include "lint/words.h"

namespace aliquot::lint {
namespace {

template <std::size_t N>
int count_keys(const Node& node, const std::array<std::string_view, N>& keys) {
    return static_cast<int>(
        std::count_if(node.entries.begin(), node.entries.end(), [&keys](const Node::Entry& entry) {
            return std::find(keys.begin(), keys.end(), entry.first.scalar) != keys.end();
        }));
}

bool has(const Node& node, std::string_view key) { return node.find(key) != nullptr; }

bool is_mapping_at(const Node& node, std::string_view path) {
    const Node* found = at_path(node, path);
    return found != nullptr && found->is_mapping();
}

bool is_device_plugin_config(const Node& node) {
    if (is_mapping_at(node, "sharing.timeSlicing") || is_mapping_at(node, "sharing.mps"))
        return true;
    if (text_at(node, "version") == "v1" && (has(node, "flags") || has(node, "sharing")))
        return true;
    if (text_at(node, "version") == "v1" && is_mapping_at(node, "resources.gpus")) return true;
    return node.entries.size() == 1 &&
           (is_mapping_at(node, "timeSlicing") || is_mapping_at(node, "mps"));
}

bool has_rules(const Node& node) {
    const Node* groups = node.find("groups");
    return groups != nullptr && std::any_of(groups->items.begin(), groups->items.end(),
                                            [](const Node& one) { return has(one, "rules"); });
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

/// The chart whose values these are; empty: none that we know.
std::string chart_of(const Node& node) {
    if (count_keys(node, kPluginKeys) >= 3) return "nvidia-device-plugin";
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
    if (count_keys(node, kRunnerKeys) >= 1) return "gha-runner-scale-set";
    return {};
}

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

Role role_of_mapping(const Node& node) {
    if (has(node, "apiVersion") && has(node, "kind")) {
        if (text_at(node, "kind") == "Kustomization" &&
            contains(text_at(node, "apiVersion"), "kustomize.config")) {
            return Role::kKustomization;
        }
        return Role::kObject;
    }
    if (has(node, "mig-configs")) return Role::kMigParted;
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

Role role_of(const Node& node) {
    if (node.is_mapping()) return role_of_mapping(node);
    if (!node.is_sequence() || node.items.empty() || !node.items.front().is_mapping()) {
        return Role::kNothing;
    }
    const Node& first = node.items.front();
    const bool container = has(first, "image") || has(first, "resources");
    const bool toleration = has(first, "key") && has(first, "effect");
    const bool variable = has(first, "name") && (has(first, "value") || has(first, "valueFrom"));
    return container || toleration || variable ? Role::kFragment : Role::kNothing;
}

bool has_image(const Node& node, int depth = 0) {
    constexpr int kDeepest = 20;
    if (depth > kDeepest) return false;
    for (const auto& [key, value] : node.entries) {
        if (key.scalar == "image" && !value.scalar.empty()) return true;
        if (has_image(value, depth + 1)) return true;
    }
    return std::any_of(node.items.begin(), node.items.end(),
                       [depth](const Node& item) { return has_image(item, depth + 1); });
}

bool has_patch_mark(const Node& node, int depth = 0) {
    constexpr int kDeepest = 12;
    if (depth > kDeepest) return false;
    for (const auto& [key, value] : node.entries) {
        if (key.scalar == "$patch" || has_patch_mark(value, depth + 1)) return true;
    }
    return std::any_of(node.items.begin(), node.items.end(),
                       [depth](const Node& item) { return has_patch_mark(item, depth + 1); });
}

/// Adds objects of one block.
class Adder {
public:
    Adder(File& file, int block, const ReadLimits& limits)
        : file_(file), block_(block), limits_(limits) {}

    void add_document(YamlDocument document, unsigned index, unsigned documents) {
        if (document.broken) file_.unreadable.push_back({block_, document.error, document.message});
        document_ = &document;
        index_ = index;
        documents_ = documents;
        file_.nodes.push_back(std::move(document.node));
        add_node(file_.nodes.back(), -1, 0);
    }

private:
    void add_node(const Node& node, int holder, int depth);
    void add_parts(const Node& node, int index);
    int add(const Node& node, Role role, int holder);

    File& file_;
    int block_;
    const ReadLimits& limits_;
    const YamlDocument* document_ = nullptr;
    unsigned index_ = 0;
    unsigned documents_ = 1;
};

int Adder::add(const Node& node, Role role, int holder) {
    if (file_.objects.size() >= limits_.objects) return -1;
    Object object;
    object.role = role;
    object.block = block_;
    object.index = index_;
    object.documents = documents_;
    object.node = &node;
    object.holder = holder;
    object.broken = document_->broken;
    object.templated = document_->templated;
    if (node.is_mapping()) {
        object.api_version = text_at(node, "apiVersion");
        object.kind = text_at(node, "kind");
        object.name = text_at(node, "metadata.name");
        object.name_space = text_at(node, "metadata.namespace");
    }
    if (role == Role::kHelmValues) object.chart = chart_of(node);
    if (role == Role::kObject) {
        const bool empty_workload = object.is_workload() && !has_image(node);
        const std::string name = lower(file_.name);
        const bool patch_file =
            name.find("patch") != std::string::npos || name.find("overlay") != std::string::npos;
        const bool partial = document_->gaps || has_patch_mark(node) ||
                             (object.is_workload() && !has(node, "spec")) ||
                             (patch_file && object.is_workload());
        if (empty_workload || partial) object.role = Role::kPatch;
    }
    file_.objects.push_back(std::move(object));
    return static_cast<int>(file_.objects.size()) - 1;
}

void Adder::add_node(const Node& node, int holder, int depth) {
    constexpr int kDeepestList = 4;
    const Role role = role_of(node);
    const int index = add(node, role, holder);
    if (index < 0 || depth > kDeepestList) return;
    const std::string& kind = file_.objects[static_cast<std::size_t>(index)].kind;
    const Node* items = node.find("items");
    if (role == Role::kObject && ends_with(kind, "List") && items != nullptr) {
        for (const Node& item : items->items) add_node(item, index, depth + 1);
        return;
    }
    add_parts(node, index);
}

/// What objects hold that has a role of its own.
void Adder::add_parts(const Node& node, int index) {
    const std::string kind = file_.objects[static_cast<std::size_t>(index)].kind;
    const auto part = [this, &node, index](std::string_view path, Role role) {
        const Node* found = at_path(node, path);
        if (found == nullptr || !found->is_mapping()) return -1;
        return add(*found, role, index);
    };
    const auto set_chart = [this](int values, const std::string& chart) {
        if (values < 0) return;
        Object& object = file_.objects[static_cast<std::size_t>(values)];
        if (object.chart.empty()) object.chart = chart;
    };
    if (kind == "PrometheusRule") part("spec", Role::kPrometheusRules);
    if (kind == "HelmRelease") {
        set_chart(part("spec.values", Role::kHelmValues), text_at(node, "spec.chart.spec.chart"));
    }
    if (kind == "Application") {
        set_chart(part("spec.source.helm.valuesObject", Role::kHelmValues),
                  text_at(node, "spec.source.chart"));
    }
}

/// Block scalars anywhere below: the texts of ConfigMaps, scripts, values.
void collect_texts(const Node& node, std::string_view key, int depth,
                   std::vector<std::pair<std::string, const Node*>>& texts) {
    constexpr int kDeepest = 40;
    constexpr std::size_t kMost = 2'000;
    if (depth > kDeepest || texts.size() > kMost) return;
    const bool text = node.is_string() && node.scalar.find('\n') != std::string::npos;
    const bool json = node.is_string() && node.quoted && node.scalar.size() > 8 &&
                      (node.scalar.front() == '{' || node.scalar.front() == '[');
    const bool step = key == "run" && node.is_string() && !node.scalar.empty();  // of a workflow
    if (text || json || step) texts.emplace_back(key, &node);
    for (const Node& item : node.items) collect_texts(item, key, depth + 1, texts);
    for (const auto& [name, value] : node.entries) {
        collect_texts(value, name.scalar, depth + 1, texts);
    }
}

void read_texts(File& file, int index, const ReadLimits& limits, int depth) {
    const Object object = file.objects[static_cast<std::size_t>(index)];
    std::vector<std::pair<std::string, const Node*>> texts;
    collect_texts(*object.node, "", 0, texts);
    for (const auto& [key, node] : texts) {
        if (key == "kubectl.kubernetes.io/last-applied-configuration") continue;
        const DeclaredLanguage language = language_of_value(key, node->scalar);
        if (!language.known) continue;
        Block block = block_of_scalar(file, object.block, *node);
        block.language = language.language;
        const std::size_t first = file.objects.size();
        if (add_block(file, std::move(block), limits, depth + 1) < 0) return;
        for (std::size_t i = first; i < file.objects.size(); ++i) {
            if (file.objects[i].holder >= 0) continue;
            file.objects[i].holder = index;
            file.objects[i].key = key;
        }
    }
}

}  // namespace

void read_documents(File& file, int block, const ReadLimits& limits, int depth) {
    std::vector<YamlDocument> documents = read_yaml(file.blocks[static_cast<std::size_t>(block)]);
    const std::size_t first = file.objects.size();
    Adder adder(file, block, limits);
    const auto count = static_cast<unsigned>(documents.size());
    for (unsigned i = 0; i < count; ++i) adder.add_document(std::move(documents[i]), i, count);
    const std::size_t last = file.objects.size();
    for (std::size_t i = first; i < last; ++i) {
        const auto index = static_cast<int>(i);
        const Role role = file.objects[i].role;
        const bool part = file.objects[i].holder >= static_cast<int>(first);
        const bool list = role == Role::kObject && ends_with(file.objects[i].kind, "List");
        if (list) continue;
        if (!part || file.objects[i].node->find("apiVersion") != nullptr) {
            read_pods(file, index);
            read_value_images(file, index);
            read_expressions(file, index);
            read_texts(file, index, limits, depth);
        }
    }
}

}  // namespace aliquot::lint
