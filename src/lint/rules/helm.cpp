// SPDX-License-Identifier: Apache-2.0
// Helm commands and values: GOP001, GOP008, GOP009, HELM001, HELM002.
#include <algorithm>
#include <array>
#include <vector>

#include "lint/families.h"
#include "lint/rules/evidence.h"
#include "lint/rules/operator_rules.h"
#include "lint/words.h"

namespace aliquot::lint {
namespace {

using findings::Severity;

void check_version(const ChartInstall& install, Report& report) {
    if (install.local || !install.version.empty()) return;
    const bool known = install.chart == "gpu-operator" || install.chart == "nvidia-device-plugin";
    const bool other = install.chart == "dcgm-exporter" ||
                       install.chart == "gpu-feature-discovery" ||
                       install.chart == "nvidia-dra-driver-gpu";
    if (!known && !other) return;
    auto entry = report.add("GOP001", install.command->mark,
                            "the chart " + install.chart + " is installed without --version");
    if (other || install.options) entry.severity(Severity::kInfo);
}

/// The chart in an object that installs it without a version: the newest one, whenever that is.
void check_written_version(const Object& object, Report& report) {
    const Value* holder = nullptr;
    if (object.kind == "HelmChart" && object.api_version.starts_with("helm.cattle.io/")) {
        holder = at_path(*object.node, "spec");
    } else if (object.kind == "HelmRelease" &&
               text_at(*object.node, "spec.chart.spec.sourceRef.kind") == "HelmRepository") {
        holder = at_path(*object.node, "spec.chart.spec");
    }
    if (holder == nullptr || holder->find("version") != nullptr) return;
    const Value* chart = holder->find("chart");
    if (chart == nullptr) return;
    const std::string_view path = chart->scalar;
    const std::string_view name = path.substr(path.rfind('/') + 1);
    if (name != "gpu-operator" && name != "nvidia-device-plugin") return;
    report
        .add("GOP001", chart->mark,
             "the chart " + std::string(name) + " is installed without a version")
        .expected("version: the release that was tried")
        .fix("version: <as in helm search repo " + std::string(name) + ">");
}

void check_install(const File& file, const ChartInstall& install, Report& report) {
    const auto words = install.command->positionals();
    if (words.empty() || words.front()->text != "install") return;
    if (!is_gpu_chart(install.chart)) return;
    if (!file.is_prose() && file.kind != FileKind::kShell) return;
    report
        .add("HELM001", words.front()->mark,
             "helm install of " + install.chart + " fails when it is there already")
        .expected("helm upgrade --install");
}

/// "-set", "-version": Helm takes the letters one by one. "–set" with a typographic dash is a name.
void check_dashes(const Command& command, Report& report) {
    static constexpr std::array<std::string_view, 14> kFlags{
        "set",           "version", "namespace", "create-namespace", "values",     "wait",
        "generate-name", "repo",    "timeout",   "install",          "set-string", "devel",
        "reuse-values",  "atomic"};
    for (const Word& word : command.words) {
        std::string_view text = word.text;
        if (word.quoted) continue;
        if (text == "--") break;
        std::string_view dash;
        for (const std::string_view one : {"\u2013", "\u2014", "-"}) {
            if (text.starts_with(one)) {
                dash = one;
                break;
            }
        }
        if (dash.empty() || text.starts_with("--")) continue;
        const std::string_view rest = text.substr(dash.size());
        std::string_view name = rest.substr(0, rest.find('='));
        while (name.starts_with("-")) name.remove_prefix(1);
        if (std::find(kFlags.begin(), kFlags.end(), name) == kFlags.end()) continue;
        report
            .add("HELM002", word.mark,
                 "'" + word.text + "' is not an option of helm: long options have two dashes")
            .expected("--" + std::string(name))
            .fix("--" + std::string(rest));
    }
}

/// `--set-file config.map.config`: a value without '=' sets nothing.
void check_assignments(const Command& command, Report& report) {
    if (command.words.size() < 2) return;
    for (const std::string_view flag : {"--set", "--set-string", "--set-file", "--set-json"}) {
        const Word* word = command.flag(flag);
        const auto value = command.value(flag);
        if (word == nullptr || !value || is_placeholder(*value) || contains(*value, "$")) continue;
        if (contains(*value, "=") || contains(command.text, std::string(flag) + " \\")) continue;
        report
            .add("HELM002", word->mark,
                 std::string(flag) + " '" + *value + "' has no '=', and helm refuses it")
            .expected(std::string(flag) + " KEY=VALUE");
    }
}

}  // namespace

void check_helm(const File& file, const Set& /*set*/, const Facts* /*facts*/, Report& report) {
    const auto installs = chart_installs(file);
    for (const ChartInstall& install : installs) {
        check_version(install, report);
        if (about_gpus(file)) check_install(file, install, report);
    }
    for (const Command& command : file.commands) {
        if (command.is("helm") || command.is("helm3")) check_dashes(command, report);
        if (command.is("helm") || command.is("helm3")) check_assignments(command, report);
    }
    for (const Object& object : file.objects) check_written_version(object, report);
    check_helm_keys(file, installs, report);
}

}  // namespace aliquot::lint
