// SPDX-License-Identifier: Apache-2.0
// Keys of Helm values: GOP008, GOP009.
#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "catalog/version.h"
#include "lint/rules/operator_rules.h"
#include "lint/words.h"

namespace aliquot::lint {
namespace {

// Top-level keys of the charts, over their versions from 2021 up to autumn 2026.
constexpr std::array<std::string_view, 39> kOperatorKeys{"ccManager",
                                                         "cdi",
                                                         "clusterPolicy",
                                                         "daemonsets",
                                                         "dcgm",
                                                         "dcgmExporter",
                                                         "devicePlugin",
                                                         "draDriver",
                                                         "driver",
                                                         "extraObjects",
                                                         "fullnameOverride",
                                                         "gdrcopy",
                                                         "gds",
                                                         "gfd",
                                                         "gpuCluster",
                                                         "hostPaths",
                                                         "kataManager",
                                                         "kataSandboxDevicePlugin",
                                                         "mig",
                                                         "migManager",
                                                         "nameOverride",
                                                         "nfd",
                                                         "node-feature-discovery",
                                                         "nodeStatusExporter",
                                                         "operator",
                                                         "platform",
                                                         "psa",
                                                         "psp",
                                                         "sandboxDevicePlugin",
                                                         "sandboxWorkloads",
                                                         "toolkit",
                                                         "validator",
                                                         "vfioManager",
                                                         "vgpuDeviceManager",
                                                         "vgpuManager",
                                                         "global",
                                                         "enabled",
                                                         "crds",
                                                         "version"};
constexpr std::array<std::string_view, 38> kPluginKeys{"affinity",
                                                       "allowDefaultNamespace",
                                                       "cdi",
                                                       "compatWithCPUManager",
                                                       "config",
                                                       "deviceDiscoveryStrategy",
                                                       "deviceIDStrategy",
                                                       "deviceListStrategy",
                                                       "devicePlugin",
                                                       "failOnInitError",
                                                       "fullnameOverride",
                                                       "gdrcopyEnabled",
                                                       "gdsEnabled",
                                                       "gfd",
                                                       "image",
                                                       "imagePullSecrets",
                                                       "legacyDaemonsetAPI",
                                                       "migStrategy",
                                                       "mofedEnabled",
                                                       "mps",
                                                       "nameOverride",
                                                       "namespace",
                                                       "namespaceOverride",
                                                       "nfd",
                                                       "node-feature-discovery",
                                                       "nodeSelector",
                                                       "nvidiaDriverRoot",
                                                       "podAnnotations",
                                                       "podSecurityContext",
                                                       "priorityClassName",
                                                       "resources",
                                                       "runtimeClassName",
                                                       "securityContext",
                                                       "selectorLabelsOverride",
                                                       "tolerations",
                                                       "updateStrategy",
                                                       "global",
                                                       "sharedDevicesAllocationPolicy"};
constexpr std::array<std::string_view, 34> kExporterKeys{"affinity",
                                                         "arguments",
                                                         "basicAuth",
                                                         "debugDump",
                                                         "extraConfigMapVolumes",
                                                         "extraEnv",
                                                         "extraHostVolumes",
                                                         "extraVolumeMounts",
                                                         "fullnameOverride",
                                                         "global",
                                                         "hostNetwork",
                                                         "hostPID",
                                                         "image",
                                                         "imagePullSecrets",
                                                         "kubeletPath",
                                                         "kubernetes",
                                                         "kubernetesDRA",
                                                         "livenessProbe",
                                                         "mapPodsMetrics",
                                                         "nameOverride",
                                                         "namespaceOverride",
                                                         "nodeSelector",
                                                         "podAnnotations",
                                                         "podLabels",
                                                         "podSecurityContext",
                                                         "priorityClassName",
                                                         "readinessProbe",
                                                         "resources",
                                                         "rollingUpdate",
                                                         "runtimeClassName",
                                                         "securityContext",
                                                         "service",
                                                         "serviceAccount",
                                                         "serviceMonitor"};
constexpr std::array<std::string_view, 4> kExporterMore{"tlsServerConfig", "tolerations",
                                                        "customMetrics", "updateStrategy"};

/// Keys that stand one level too high in values of gpu-operator.
bool is_high(std::string_view key) {
    return key == "nodeSelector" || key == "tolerations" || key == "affinity" ||
           key == "resources" || key == "runtimeClassName" || key == "migStrategy" ||
           key == "serviceMonitor" || key == "imagePullSecrets" || key == "image" ||
           key == "replicaCount";
}

std::string_view right_place(std::string_view key) {
    if (key == "tolerations") return "daemonsets.tolerations and operator.tolerations";
    if (key == "migStrategy") return "mig.strategy";
    if (key == "serviceMonitor") return "dcgmExporter.serviceMonitor";
    if (key == "nodeSelector")
        return "operator.nodeSelector, or the label nvidia.com/gpu.deploy.operands";
    if (key == "imagePullSecrets")
        return "imagePullSecrets of operator, driver, toolkit and the other sections";
    if (key == "image") return "image of a section: driver, toolkit, devicePlugin, ...";
    return {};
}

/// The section of gpu-operator that goes by another name elsewhere; empty: none.
std::string_view section_named(std::string_view key) {
    struct Name {
        std::string_view key;
        std::string_view section;
    };
    constexpr std::array<Name, 13> kNames{{
        {"containerToolkit", "toolkit"},
        {"container-toolkit", "toolkit"},
        {"nvidiaToolkit", "toolkit"},
        {"nvidiaContainerToolkit", "toolkit"},
        {"nvidiaDriver", "driver"},
        {"gpuDriver", "driver"},
        {"drivers", "driver"},
        {"device-plugin", "devicePlugin"},
        {"nvidiaDevicePlugin", "devicePlugin"},
        {"gpuFeatureDiscovery", "gfd"},
        {"nodeFeatureDiscovery", "nfd.enabled, and node-feature-discovery for its values"},
        {"timeSlicing", "devicePlugin.config"},
        {"mig-manager", "migManager"},
    }};
    for (const Name& name : kNames) {
        if (name.key == key) return name.section;
    }
    return {};
}

struct Chart {
    std::string_view name;
    std::vector<std::string_view> keys;
};

const Chart* chart_named(std::string_view name) {
    static const std::array<Chart, 3> kCharts{
        {{"gpu-operator", {kOperatorKeys.begin(), kOperatorKeys.end()}},
         {"nvidia-device-plugin", {kPluginKeys.begin(), kPluginKeys.end()}},
         {"dcgm-exporter", [] {
              std::vector<std::string_view> keys(kExporterKeys.begin(), kExporterKeys.end());
              keys.insert(keys.end(), kExporterMore.begin(), kExporterMore.end());
              return keys;
          }()}}};
    for (const Chart& chart : kCharts) {
        if (chart.name == name) return &chart;
    }
    return nullptr;
}

/// Values that are a copy of all that the chart has: what is in them nobody chose.
bool is_whole_copy(const Value& values) {
    const Value* of_operator = values.find("operator");
    return of_operator != nullptr &&
           (of_operator->find("repository") != nullptr || of_operator->find("image") != nullptr ||
            of_operator->find("upgradeCRD") != nullptr);
}

bool has_key(const Chart& chart, const Value::Entry& entry) {
    return std::find(chart.keys.begin(), chart.keys.end(), entry.first.scalar) != chart.keys.end();
}

/// `key` is the first step of a path in the values of `chart`; `sure`: of no chart around it.
void check_key(const Chart& chart, std::string_view key, Mark mark, bool sure, Report& report) {
    if (key.find_first_of("<>{}$.") != std::string_view::npos || key == "key") return;
    if (std::find(chart.keys.begin(), chart.keys.end(), key) != chart.keys.end()) return;
    std::string meant(nearest(key, chart.keys));
    if (chart.name == "nvidia-device-plugin" &&
        (key == "driver" || key == "toolkit" || key == "dcgmExporter" || key == "migManager" ||
         key == "operator")) {
        meant = "the chart gpu-operator, which has it";
    }
    if (chart.name == "gpu-operator" && is_high(key)) meant = right_place(key);
    if (chart.name == "gpu-operator" && meant.empty()) meant = section_named(key);
    if (meant.empty() && !sure) return;  // of a chart around it, or newer than the table
    report
        .add("GOP008", mark,
             "the chart " + std::string(chart.name) + " has no key '" + std::string(key) + "'")
        .expected(meant.empty() ? "one of helm show values " + std::string(chart.name) : meant);
}

/// `devicePlugin.config` names a ConfigMap; what people write into it is the ConfigMap's text.
void check_config(const Value& values, Report& report) {
    const Value* config = at_path(values, "devicePlugin.config");
    if (config == nullptr || !config->is_mapping()) return;
    for (const Value::Entry& entry : config->entries) {
        const std::string& key = entry.first.scalar;
        if (key != "sharing" && key != "timeSlicing" && key != "flags" && key != "replicas" &&
            key != "resources" && key != "map") {
            continue;
        }
        report
            .add("GOP008", entry.first.mark,
                 "devicePlugin.config has no key '" + key +
                     "': it names a ConfigMap, and the sharing stands in that one")
            .expected(
                "name and default; the text under data, with create: true, or in a ConfigMap");
    }
}

/// A path below a key that gpu-operator has, which it does not have.
struct WrongPath {
    std::string_view path;
    std::string_view meant;
};
constexpr std::string_view kVariable = "a variable of devicePlugin.env";
constexpr std::array<WrongPath, 10> kWrongPaths{{
    {"mig.enabled", "migManager.enabled, mig.strategy"},
    {"mig.config", "migManager.config.name"},
    {"mig.migStrategy", "mig.strategy"},
    {"migManager.strategy", "mig.strategy"},
    {"devicePlugin.migStrategy", "mig.strategy"},
    {"devicePlugin.compatWithCPUManager", kVariable},
    {"devicePlugin.failOnInitError", kVariable},
    {"devicePlugin.deviceListStrategy", kVariable},
    {"devicePlugin.deviceIDStrategy", kVariable},
    {"devicePlugin.passDeviceSpecs", kVariable},
}};

void check_path(std::string_view path, Mark mark, Report& report) {
    for (const WrongPath& one : kWrongPaths) {
        if (path != one.path) continue;
        report
            .add("GOP008", mark,
                 "the chart gpu-operator has no key '" + std::string(one.path) + "'")
            .expected(std::string(one.meant));
    }
}

/// Keys of pods in the section of one operand: the operands share those of `daemonsets` since v1.9.
void check_operands(const Value& values, Report& report) {
    for (const std::string_view section :
         {"toolkit", "devicePlugin", "dcgm", "dcgmExporter", "gfd", "migManager",
          "nodeStatusExporter", "validator", "vgpuManager", "vgpuDeviceManager", "vfioManager",
          "sandboxDevicePlugin", "ccManager", "kataManager", "driver"}) {
        const Value* operand = values.find(section);
        if (operand == nullptr || !operand->is_mapping()) continue;
        for (const Value::Entry& entry : operand->entries) {
            const std::string& key = entry.first.scalar;
            if (entry.second.items.empty() && entry.second.entries.empty()) continue;
            if (key != "tolerations" && key != "affinity" && key != "podAnnotations" &&
                key != "podLabels" && (key != "nodeSelector" || section == "driver")) {
                continue;
            }
            auto finding = report.add(
                "GOP008", entry.first.mark,
                "the chart gpu-operator has no key '" + std::string(section) + "." + key + "'");
            if (key == "tolerations") finding.expected("daemonsets.tolerations, for all operands");
            if (key == "nodeSelector") finding.expected("the label nvidia.com/gpu.deploy.operands");
            if (key == "podAnnotations") finding.expected("daemonsets.annotations");
            if (key == "podLabels") finding.expected("daemonsets.labels");
        }
    }
}

/// The operator asks the nodes for their runtime since v22.9.
bool asks_nodes(std::string_view version) {
    const auto parsed =
        catalog::parse_version(version.starts_with("v") ? version.substr(1) : version);
    return version.empty() || !parsed || parsed->major() > 22 ||
           (parsed->major() == 22 && parsed->minor() >= 9);
}

void check_old(std::string_view path, std::string_view value, Mark mark,
               findings::Severity severity, Report& report) {
    if (path == "driver.useOpenKernelModules") {
        report.add("GOP009", mark, "'driver.useOpenKernelModules' is replaced")
            .expected("driver.kernelModuleType")
            .fix(value == "false" ? "driver.kernelModuleType: proprietary"
                                  : "driver.kernelModuleType: open")
            .severity(value == "false" ? findings::Severity::kInfo  // what the chart did anyway
                                       : severity);
    } else if (path == "operator.defaultRuntime") {
        report.add("GOP009", mark, "'operator.defaultRuntime' has no effect any more")
            .expected("nothing: the operator asks the nodes")
            .severity(severity);
    }
}

}  // namespace

void check_helm_keys(const File& file, const std::vector<ChartInstall>& installs, Report& report) {
    for (const Object& object : file.objects) {
        const Value* spec = object.kind == "ClusterPolicy" ? object.node->find("spec") : nullptr;
        if (spec != nullptr) check_config(*spec, report);
        if (object.role != Role::kHelmValues || !object.node->is_mapping()) continue;
        if (object.chart == "gpu-operator") check_config(*object.node, report);
        if (object.chart == "gha-runner-scale-set") {
            check_runner_keys(object, report);
            continue;
        }
        const Chart* chart = chart_named(object.chart);
        if (chart == nullptr || object.broken) continue;
        const bool copy = is_whole_copy(*object.node);  // perhaps of somebody's own chart
        const auto known = static_cast<std::size_t>(
            std::count_if(object.node->entries.begin(), object.node->entries.end(),
                          [chart](const Value::Entry& entry) { return has_key(*chart, entry); }));
        for (const Value::Entry& entry : object.node->entries) {
            constexpr std::size_t kMany = 5;  // a section beside so many is meant for this chart
            const bool sure = chart->name == "gpu-operator" && known >= kMany && !copy &&
                              entry.second.is_mapping() &&
                              entry.first.scalar.find_first_of("-_.") == std::string::npos;
            check_key(*chart, entry.first.scalar, entry.first.mark, sure, report);
        }
        if (chart->name != "gpu-operator") continue;
        if (!copy) check_operands(*object.node, report);
        for (const WrongPath& wrong : kWrongPaths) {
            const Value::Entry* entry = entry_at(*object.node, wrong.path);
            if (entry != nullptr) check_path(wrong.path, entry->first.mark, report);
        }
        for (const std::string_view path :
             {"driver.useOpenKernelModules", "operator.defaultRuntime"}) {
            const Value::Entry* entry = entry_at(*object.node, path);
            if (entry != nullptr) {
                check_old(path, entry->second.scalar, entry->first.mark,
                          copy ? findings::Severity::kInfo : findings::Severity::kWarning, report);
            }
        }
    }
    for (const ChartInstall& install : installs) {
        const Chart* chart = chart_named(install.chart);
        if (chart == nullptr) continue;
        for (const auto& [path, word] : install.sets) {
            const std::string key = path.substr(0, path.find_first_of(".[\\"));
            check_key(*chart, key, word.mark, !install.local, report);
            if (chart->name != "gpu-operator") continue;
            check_path(path, word.mark, report);
            check_old(path, word.text, word.mark,
                      asks_nodes(install.version) ? findings::Severity::kWarning
                                                  : findings::Severity::kInfo,
                      report);
        }
    }
}

}  // namespace aliquot::lint
