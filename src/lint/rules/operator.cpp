// SPDX-License-Identifier: Apache-2.0
// Installation of NVIDIA's operator and its parts: GOP002 to GOP006, GOP010 to GOP017.
#include <algorithm>
#include <array>
#include <optional>

#include "catalog/version.h"
#include "k8s/resource_name.h"
#include "lint/families.h"
#include "lint/rules/evidence.h"
#include "lint/rules/operator_rules.h"
#include "lint/words.h"

namespace aliquot::lint {
namespace {

using findings::Severity;

bool installs_host_driver(const File& file, std::string& line) {
    for (const Command& command : file.commands) {
        const bool package = command.is("apt") || command.is("apt-get") || command.is("dnf") ||
                             command.is("yum") || command.is("zypper");
        const bool driver =
            contains(command.text, "nvidia-driver") || contains(command.text, "cuda-drivers");
        if ((package && contains(command.text, "install") && driver) ||
            (command.is("ubuntu-drivers") && contains(command.text, "install"))) {
            line = std::to_string(command.mark.line);
            return true;
        }
    }
    for (const Statement& statement : file.statements) {
        const std::string& text = statement.text;
        if (statement.kind == Statement::Kind::kComment || !contains(text, "nvidia")) continue;
        if (!contains(text, "driver")) continue;
        const bool prerequisite = contains(file.heading_path(statement.heading), "prerequisite") ||
                                  contains(file.heading_path(statement.heading), "requirement");
        const bool said = contains(text, "or later") || contains(text, "or newer") ||
                          contains(text, "installed on") || contains(text, "pre-installed") ||
                          contains(text, "preinstalled");
        if (prerequisite && said && !contains(text, "not ") && !contains(text, "no ")) {
            line = std::to_string(statement.mark.line);
            return true;
        }
    }
    return false;
}

void check_driver(const File& file, const std::vector<ChartInstall>& installs, Report& report) {
    std::string line;
    const auto say = [&](Mark mark) {
        if (line.empty() && !installs_host_driver(file, line)) return;
        report
            .add("GOP002", mark,
                 "driver.enabled=true installs a second driver besides that of the host (line " +
                     line + ")")
            .expected("driver.enabled=false, or no driver on the host");
    };
    for (const ChartInstall& install : installs) {
        if (install.chart != "gpu-operator") continue;
        for (const auto& [path, word] : install.sets) {
            if (path == "driver.enabled" && word.text == "true") say(word.mark);
        }
    }
    if (!file.is_prose()) return;
    for (const Object& object : file.objects) {
        if (object.role != Role::kHelmValues || object.chart != "gpu-operator") continue;
        const Value* enabled = at_path(*object.node, "driver.enabled");
        if (enabled != nullptr && enabled->scalar == "true") say(enabled->mark);
    }
}

/// A distribution whose containerd is not where the toolkit looks for it.
std::string_view distribution_of(const File& file) {
    if (file.mentions("/var/lib/rancher/k3s") || file.mentions("k3s-io") || file.mentions("k3s ")) {
        return "k3s";
    }
    const bool installs_k3s =
        file.mentions("get.k3s.io") &&
        std::any_of(file.commands.begin(), file.commands.end(), [](const Command& one) {
            return one.is("curl") && contains(one.text, "get.k3s.io") && one.piped_to >= 0;
        });
    if (installs_k3s) return "k3s";
    if (file.mentions("rke2")) return "RKE2";
    if (file.mentions("microk8s")) return "MicroK8s";
    return {};
}

void check_toolkit(const File& file, const std::vector<ChartInstall>& installs, Report& report) {
    const std::string_view distribution = distribution_of(file);
    if (distribution.empty()) return;
    for (const ChartInstall& install : installs) {
        if (install.chart != "gpu-operator" || install.values_file || install.options) continue;
        if (install.value("toolkit.enabled") == "false" || install.sets_any("toolkit.env"))
            continue;
        if (install.value("operator.defaultRuntime").empty() && file.mentions("containerd_socket"))
            continue;
        if (distribution == "k3s" && !file.mentions("/var/lib/rancher") &&
            !file.mentions("get.k3s.io")) {
            continue;
        }
        report
            .add("GOP003", install.command->mark,
                 "the toolkit of gpu-operator does not find the containerd of " +
                     std::string(distribution) + " by itself")
            .expected(
                "toolkit.env with CONTAINERD_CONFIG and CONTAINERD_SOCKET, or "
                "toolkit.enabled=false");
    }
    for (const Command& command : file.commands) {
        const bool addon =
            contains(command.text, "enable gpu") || contains(command.text, "enable nvidia");
        if (!addon ||
            (command.wrapper != "microk8s" && !command.is("microk8s") && !command.is("enable"))) {
            continue;
        }
        if (contains(command.text, "enable gpu")) {
            report.add("GOP011", command.mark, "the addon 'gpu' of MicroK8s is now called 'nvidia'")
                .fix("microk8s enable nvidia");
        }
        const bool configured =
            std::any_of(file.commands.begin(), file.commands.end(), [](const Command& one) {
                return one.is("nvidia-ctk") && (contains(one.text, "microk8s") ||
                                                contains(one.text, "containerd-template"));
            });
        if (configured) {
            report.add("GOP003", command.mark,
                       "the addon installs a second container toolkit, which writes the "
                       "configuration that nvidia-ctk wrote above");
        }
    }
}

/// Helm reads one document of a values file.
void check_documents(const File& file, Report& report) {
    for (std::size_t i = 0; i < file.objects.size(); ++i) {
        const Object& values = file.objects[i];
        if (values.role != Role::kHelmValues || values.documents < 2 || values.holder >= 0)
            continue;
        if (!is_gpu_chart(values.chart) && values.chart != "kube-prometheus-stack") continue;
        if (values.index == 0) {
            for (std::size_t j = i + 1; j < file.objects.size(); ++j) {
                const Object& other = file.objects[j];
                if (other.block != values.block || other.holder >= 0 || other.index == 0) continue;
                if (other.role == Role::kNothing && other.node->entries.empty()) continue;
                report.add("GOP004", other.mark(),
                           "Helm reads only the first document of a values file: " +
                               (other.kind.empty() ? std::string("this one")
                                                   : other.kind + " " + other.name) +
                               " is never created");
            }
        } else {
            const bool first_is_object =
                std::any_of(file.objects.begin(), file.objects.end(), [&](const Object& other) {
                    return other.block == values.block && other.index == 0 && other.holder < 0 &&
                           other.role != Role::kNothing && other.role != Role::kHelmValues;
                });
            if (!first_is_object) continue;
            report.add("GOP004", values.mark(),
                       "Helm reads only the first document of a values file: these values are "
                       "never used");
        }
    }
}

void check_strategy(const File& file, const Set& set, Report& report) {
    if (!file.mentions("nvidia.com/mig-")) return;
    std::optional<MigStrategy> wrong;
    for (const File* near : set.neighbours(file)) {
        for (const MigStrategy& one : mig_strategies(*near)) {
            if (one.word == "mixed" || is_placeholder(one.word)) return;
            if (near == &file && !wrong) wrong = one;
        }
    }
    if (file.mentions("strategy=mixed") || file.mentions("strategy: mixed") ||
        file.mentions("\"mixed\"") || file.mentions("mixed strategy")) {
        return;
    }
    // Values and a ClusterPolicy that say nothing of MIG leave the default.
    const bool installed =
        installs_operator(file) ||
        std::any_of(file.objects.begin(), file.objects.end(), [](const Object& one) {
            const Value* spec = one.node->find("spec");
            if (one.kind == "ClusterPolicy" && one.role == Role::kObject && spec != nullptr) {
                return spec->find("devicePlugin") != nullptr && spec->find("mig") == nullptr;
            }
            return one.chart == "gpu-operator" && one.node->find("mig") == nullptr &&
                   one.node->find("migManager") != nullptr;
        });
    if (!wrong && !installed) return;
    for (const PodSpec& pod : file.pods) {
        for (const Container& container : pod.containers) {
            const ResourceValue* gpu = container.gpu();
            if (gpu == nullptr || k8s::mig_profile(gpu->name).empty()) continue;
            report
                .add("GOP006", gpu->key->mark,
                     wrong ? gpu->name +
                                 " is offered only under the MIG strategy mixed; here it is '" +
                                 wrong->word + "' (line " + std::to_string(wrong->mark.line) + ")"
                           : gpu->name +
                                 " is offered only under the MIG strategy mixed; "
                                 "gpu-operator's default is single")
                .fix("--set mig.strategy=mixed");
        }
    }
}

void check_namespaces(const File& file, Report& report) {
    for (const Object& object : file.objects) {
        if (object.kind != "Namespace" || !contains(object.name, "gpu-operator")) continue;
        const Value* labels = at_path(*object.node, "metadata.labels");
        const Value* enforce =
            labels == nullptr ? nullptr : labels->find("pod-security.kubernetes.io/enforce");
        if (enforce == nullptr || enforce->scalar == "privileged" ||
            is_placeholder(enforce->scalar)) {
            continue;
        }
        report
            .add("GOP010", enforce->mark,
                 "the namespace " + object.name + " enforces '" + enforce->scalar +
                     "', and the pods of gpu-operator are privileged")
            .expected("privileged")
            .fix("pod-security.kubernetes.io/enforce: privileged");
    }
}

/// Whether the text taints GPU nodes, by a command or in words.
bool taints_nodes(const File& file) {
    for (const Command& command : file.commands) {
        if (command.is("kubectl", "taint") && contains(command.text, "gpu")) return true;
        const auto taints = command.value("--node-taints");
        if (taints && contains(*taints, "gpu")) return true;
    }
    return std::any_of(file.statements.begin(), file.statements.end(), [](const Statement& one) {
        return contains(one.text, "taint") && contains(one.text, "gpu") &&
               contains(one.text, "noschedule");
    });
}

void check_exporters(const File& file, const std::vector<ChartInstall>& installs, Report& report) {
    const bool tainted = taints_nodes(file);
    const bool managed = installs_operator(file);
    for (const ChartInstall& install : installs) {
        if (install.chart != "dcgm-exporter") continue;
        if (tainted && !install.values_file && !install.sets_any("tolerations")) {
            report
                .add("GOP015", install.command->mark,
                     "the chart dcgm-exporter does not tolerate the taint of the GPU nodes, and "
                     "runs on all others")
                .fix(
                    "--set tolerations[0].key=nvidia.com/gpu --set tolerations[0].operator=Exists");
        }
        const std::string heading = file.heading_path(install.command->heading);
        const bool another_way = contains_word(heading, "option") ||
                                 contains_word(heading, "alternative") ||
                                 contains_word(heading, "standalone") ||
                                 contains_word(heading, "method") || contains(heading, "without");
        if (managed && !another_way && !file.mentions("dcgmexporter.enabled=false")) {
            report.add("GOP017", install.command->mark,
                       "gpu-operator runs a dcgm-exporter already; this is a second one");
        }
    }
    for (const Command& command : file.commands) {
        if (!command.is("kubectl", "apply") && !command.is("kubectl", "create")) continue;
        if (!contains(command.text, "dcgm-exporter.yaml") || !contains(command.text, "http"))
            continue;
        if (!tainted) continue;
        report.add("GOP015", command.mark,
                   "the manifest of dcgm-exporter does not tolerate the taint of the GPU nodes");
    }
}

void check_sources(const std::vector<ChartInstall>& installs, Report& report) {
    for (const ChartInstall& install : installs) {
        if (install.local) continue;
        const bool ngc = contains(install.source, "helm.ngc.nvidia.com") ||
                         (install.source.empty() && install.alias == "nvidia");
        if (install.chart == "dcgm-exporter" && ngc) {
            report
                .add("GOP016", install.word->mark,
                     "the chart dcgm-exporter is not in the repository '" + install.alias + "'")
                .expected("https://nvidia.github.io/dcgm-exporter/helm-charts")
                .fix(
                    "helm repo add gpu-helm-charts "
                    "https://nvidia.github.io/dcgm-exporter/helm-charts\nhelm upgrade --install "
                    "dcgm-exporter gpu-helm-charts/dcgm-exporter");
        } else if (contains(install.source, "nvidia.github.io/dcgm-exporter") &&
                   !contains(install.source, "/helm-charts")) {
            report
                .add("GOP016", install.word->mark,
                     "there is no index of charts at " + install.source)
                .expected("https://nvidia.github.io/dcgm-exporter/helm-charts");
        } else if (install.chart == "nvidia-device-plugin" && ngc && !install.source.empty()) {
            report
                .add("GOP016", install.word->mark,
                     "the chart nvidia-device-plugin is not in " + install.source)
                .expected("https://nvidia.github.io/k8s-device-plugin");
        } else if ((install.chart == "device-plugin" || install.chart == "k8s-device-plugin") &&
                   (install.alias == "nvidia" || contains(install.source, "nvidia"))) {
            report
                .add("GOP016", install.word->mark,
                     "no repository of NVIDIA has a chart '" + install.chart + "'")
                .expected("nvidia-device-plugin of https://nvidia.github.io/k8s-device-plugin");
        } else if (contains(install.source, "gpu-monitoring-tools")) {
            report
                .add("GOP016", install.word->mark,
                     "the repository " + install.source + " was closed in 2021")
                .expected("https://nvidia.github.io/dcgm-exporter/helm-charts")
                .severity(Severity::kWarning);
        }
    }
}

/// Argo's `repoURL` and `chart`, `dependencies:` of a chart, `helmCharts:` of Kustomize, HelmChart of
/// k3s: the chart and its repository in one mapping.
void check_written_source(const Value& node, int depth, Report& report) {
    constexpr int kDeepest = 20;
    if (depth > kDeepest) return;
    for (const auto& [key, value] : node.entries) check_written_source(value, depth + 1, report);
    for (const Value& item : node.items) check_written_source(item, depth + 1, report);
    const Value* repository = nullptr;
    const Value* chart = nullptr;
    for (const std::string_view key : {"repoURL", "repository", "repo", "chart_repo_url"}) {
        if (const Value* one = node.find(key)) repository = one;
    }
    for (const std::string_view key : {"name", "chart", "chart_ref"}) {
        const Value* one = node.find(key);
        if (one != nullptr && (one->scalar == "dcgm-exporter" || one->scalar.ends_with("plugin")))
            chart = one;
    }
    if (repository == nullptr || chart == nullptr ||
        !contains(repository->scalar, "helm.ngc.nvidia.com")) {
        return;
    }
    const bool exporter = chart->scalar == "dcgm-exporter";
    if (!exporter && chart->scalar != "nvidia-device-plugin") return;
    report
        .add("GOP016", chart->mark,
             "the chart " + chart->scalar + " is not in " + repository->scalar)
        .expected(exporter ? "https://nvidia.github.io/dcgm-exporter/helm-charts"
                           : "https://nvidia.github.io/k8s-device-plugin");
}

/// Flux: the release names the chart, and an object beside it the repository.
void check_flux_source(const File& file, const Set& set, const Object& release, Report& report) {
    const Value* chart = at_path(*release.node, "spec.chart.spec.chart");
    if (chart == nullptr) return;
    const bool exporter = chart->scalar == "dcgm-exporter";
    if (!exporter && chart->scalar != "nvidia-device-plugin") return;
    const std::string name = text_at(*release.node, "spec.chart.spec.sourceRef.name");
    for (const File* near : set.neighbours(file)) {
        for (const Object& object : near->objects) {
            if (object.kind != "HelmRepository" || object.name != name) continue;
            const std::string url = text_at(*object.node, "spec.url");
            if (!contains(url, "helm.ngc.nvidia.com")) continue;
            report.add("GOP016", chart->mark, "the chart " + chart->scalar + " is not in " + url)
                .expected(exporter ? "https://nvidia.github.io/dcgm-exporter/helm-charts"
                                   : "https://nvidia.github.io/k8s-device-plugin");
            return;
        }
    }
}

void check_default_namespace(const std::vector<ChartInstall>& installs, Report& report) {
    for (const ChartInstall& install : installs) {
        if (install.chart != "nvidia-device-plugin" || install.name_space != "default") continue;
        if (install.value("allowDefaultNamespace") == "true") continue;
        report
            .add("GOP012", install.command->mark,
                 "the chart nvidia-device-plugin refuses the namespace default")
            .fix("--namespace nvidia-device-plugin --create-namespace");
    }
}

}  // namespace

void check_operator(const File& file, const Set& set, const Facts* /*facts*/, Report& report) {
    if (!about_gpus(file)) return;
    const auto installs = chart_installs(file);
    check_driver(file, installs, report);
    check_toolkit(file, installs, report);
    check_documents(file, report);
    check_strategy(file, set, report);
    check_namespaces(file, report);
    check_exporters(file, installs, report);
    check_sources(installs, report);
    if (file.mentions("helm.ngc.nvidia.com")) {
        for (const Object& object : file.objects) {
            if (object.holder < 0) check_written_source(*object.node, 0, report);
        }
    }
    for (const Object& object : file.objects) {
        if (object.kind == "HelmRelease") check_flux_source(file, set, object, report);
    }
    check_default_namespace(installs, report);
    check_plugin_versions(file, installs, report);
}

}  // namespace aliquot::lint
