// SPDX-License-Identifier: Apache-2.0
// Versions of the device plugin: GOP013, GOP014.
#include <cctype>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "catalog/version.h"
#include "lint/rules/operator_rules.h"
#include "lint/words.h"

namespace aliquot::lint {
namespace {

using catalog::Version;
using findings::Severity;

/// Versions below this one are old: 0.14 is of April 2023, five minor versions ago.
constexpr unsigned kOldMinor = 15;
/// From this minor version on the manifest is at deployments/static/.
constexpr unsigned kMovedMinor = 15;

bool is_old(const Version& version) {
    return version.major() == 0 ? version.minor() < kOldMinor
                                : version.major() == 1 && version.minor() < 20;  // 1.0.0-beta, 1.11
}

void report_old(Mark mark, std::string_view version, Report& report) {
    report.add("GOP013", mark,
               "the device plugin " + std::string(version) + " is older than v0.15 of April 2024");
}

/// "v0.14.0" of https://raw.githubusercontent.com/NVIDIA/k8s-device-plugin/v0.14.0/...
void check_url(const Word& word, Report& report) {
    constexpr std::string_view kPlugin = "k8s-device-plugin/";
    const std::string& url = word.text;
    const auto at = url.find(kPlugin);
    if (at == std::string::npos || url.find("://") == std::string::npos) return;
    std::string rest = url.substr(at + kPlugin.size());
    if (rest.starts_with("blob/")) rest.erase(0, 5);
    const auto slash = rest.find('/');
    if (slash == std::string::npos) return;
    const std::string tag = rest.substr(0, slash);
    const std::string path = rest.substr(slash + 1);
    const auto version = catalog::parse_version(tag);
    const bool manifest = path.ends_with(".yml") || path.ends_with(".yaml");
    if (!manifest) return;
    if (version && is_old(*version)) report_old(word.mark, tag, report);
    const bool at_root = path.find('/') == std::string::npos;
    if (at_root && (!version || (version->major() == 0 && version->minor() >= kMovedMinor)) &&
        (version || tag == "main" || tag == "master")) {
        report
            .add("GOP013", word.mark,
                 "the tag " + tag + " of the device plugin has no file " + path)
            .expected("deployments/static/" + path)
            .fix(url.substr(0, at + kPlugin.size()) + tag + "/deployments/static/" + path);
    }
    report
        .add("GOP014", word.mark,
             "the bare manifest of the device plugin runs on every node and takes no configuration")
        .severity(Severity::kInfo);
}

/// A chart that an object installs, by the keys `chart` and `version` of one mapping.
void check_written(const Value* holder, std::string_view chart, std::string_view version,
                   Report& report) {
    if (holder == nullptr) return;
    const std::string name = text_at(*holder, chart);
    const Value* number = holder->find(version);
    if (name.substr(name.rfind('/') + 1) != "nvidia-device-plugin" || number == nullptr) return;
    if (is_placeholder(number->scalar) ||
        number->scalar.find_first_of("*xX<>~^ ") != std::string::npos) {
        return;
    }
    const auto parsed = catalog::parse_version(number->scalar);
    if (parsed && is_old(*parsed)) report_old(number->mark, number->scalar, report);
}

/// Releases of Flux, charts of k3s, applications of Argo, `helmCharts:` of Kustomize and
/// `dependencies:` of a chart.
void check_written_versions(const Object& object, Report& report) {
    const Value& node = *object.node;
    if (!node.is_mapping()) return;
    if (object.kind == "HelmRelease") {
        check_written(at_path(node, "spec.chart.spec"), "chart", "version", report);
    } else if (object.kind == "HelmChart") {
        check_written(at_path(node, "spec"), "chart", "version", report);
    } else if (object.kind == "Application") {
        check_written(at_path(node, "spec.source"), "chart", "targetRevision", report);
        if (const Value* sources = at_path(node, "spec.sources")) {
            for (const Value& one : sources->items) {
                check_written(&one, "chart", "targetRevision", report);
            }
        }
    }
    for (const std::string_view key : {"helmCharts", "dependencies"}) {
        const Value* list = node.find(key);
        if (list == nullptr) continue;
        for (const Value& one : list->items) check_written(&one, "name", "version", report);
    }
}

}  // namespace

void check_plugin_versions(const File& file, const std::vector<ChartInstall>& installs,
                           Report& report) {
    const bool bundle = file.mentions("clusterserviceversion");  // published as it was then
    for (const Object& object : file.objects) {
        check_written_versions(object, report);
        const bool policy = object.kind == "ClusterPolicy";
        if (policy && bundle) continue;
        if (!policy && object.chart != "gpu-operator") continue;
        const Value* version =
            at_path(*object.node, policy ? "spec.devicePlugin.version" : "devicePlugin.version");
        if (version == nullptr || is_placeholder(version->scalar)) continue;
        const auto number = catalog::parse_version(version->scalar);
        if (number && is_old(*number)) report_old(version->mark, version->scalar, report);
    }
    if (!file.mentions("device-plugin")) return;
    for (const Command& command : file.commands) {
        if (!command.is("kubectl") && !command.is("oc")) continue;
        for (const Word& word : command.words) check_url(word, report);
    }
    for (const Object& object : file.objects) {
        const Value* resources =
            object.role == Role::kKustomization ? object.node->find("resources") : nullptr;
        if (resources == nullptr) continue;
        for (const Value& item : resources->items) {
            check_url({item.scalar, item.mark, item.quoted}, report);
        }
    }
    for (const Command& command : file.commands) {  // what is rendered is applied afterwards
        if (!command.is("helm", "template")) continue;
        const auto words = command.positionals();
        const auto wanted = command.value("--version");
        if (words.empty() || !wanted || !words.back()->text.ends_with("/nvidia-device-plugin")) {
            continue;
        }
        const auto version = catalog::parse_version(*wanted);
        if (version && is_old(*version)) report_old(command.mark, *wanted, report);
    }
    for (const ChartInstall& install : installs) {
        if (install.chart != "nvidia-device-plugin" || install.version.empty()) continue;
        const auto version = catalog::parse_version(install.version);
        if (version && is_old(*version)) {
            report_old(install.command->mark, install.version, report);
        }
    }
    std::map<std::pair<int, std::string>, Mark> containers;  // of one object: told once
    for (const Image& image : file.images) {
        if (bundle || image.placeholder || image.base_name() != "k8s-device-plugin") continue;
        if (image.repository.find("nvidia") == std::string::npos || image.tag.empty()) continue;
        const auto version = catalog::parse_version(image.tag);
        if (!version || !is_old(*version)) continue;
        if (image.pod < 0) {
            report_old(image.mark, image.tag, report);
            continue;
        }
        const int object = file.pods[static_cast<std::size_t>(image.pod)].object;
        const auto [first, added] = containers.try_emplace({object, image.tag}, image.mark);
        if (!added && image.mark.line < first->second.line) first->second = image.mark;
    }
    for (const auto& [plugin, mark] : containers) report_old(mark, plugin.second, report);
}

}  // namespace aliquot::lint
