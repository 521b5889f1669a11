// SPDX-License-Identifier: Apache-2.0
// How a service of systemd starts: SVC003 (a program that goes into the background), SVC004 (words of a
// shell without a shell), SVC005 (wanted, yet not waited for), SVC006 (keys of another section).
#include <algorithm>
#include <array>
#include <optional>

#include "base/text.h"
#include "lint/report.h"
#include "lint/rules/unit.h"

namespace aliquot::lint {
namespace {

using Words = std::vector<std::string>;

bool has(const Words& words, std::string_view word) {
    return std::find(words.begin(), words.end(), word) != words.end();
}

/// How the program is kept in the foreground; nullopt: it stays there, or is not known.
std::optional<std::string> foreground_flag(const Words& words) {
    const std::string_view program = base_name(words.front());
    if (program == "nvidia-cuda-mps-control" && has(words, "-d")) return "-f in place of -d";
    if (program == "nv-hostengine" && !has(words, "-n") && !has(words, "--no-daemon") &&
        !has(words, "-t") && !has(words, "--term")) {
        return "-n";
    }
    if (program == "nvidia-persistenced") return "";
    return std::nullopt;
}

/// "ExecStart=" takes back that of the unit which this file changes.
bool resets_start(const Unit& unit) {
    return std::any_of(unit.lines().begin(), unit.lines().end(), [](const UnitLine& line) {
        return line.section == "Service" && line.key == "ExecStart" && line.value.empty();
    });
}

void check_background(const Unit& unit, Report& report) {
    const UnitLine* start = unit.setting("ExecStart");
    const Words words = program_of(*start);
    if (words.empty()) return;
    const auto flag = foreground_flag(words);
    if (!flag) return;
    const UnitLine* type = unit.setting("Type");
    if (type == nullptr && resets_start(unit)) return;  // a drop-in: the unit itself has the type
    const std::string kind = type == nullptr ? "simple" : lower(type->value);
    if (kind != "simple" && kind != "exec" && kind != "notify") return;
    if (unit.switched_on("RemainAfterExit") != nullptr) return;
    report
        .add("SVC003", unit.mark(type == nullptr ? *start : *type),
             std::string(base_name(words.front())) +
                 " goes into the background, and the service is of Type=" + kind)
        .expected(flag->empty() ? "Type=forking" : "Type=forking, or " + *flag)
        .fix("Type=forking");
}

/// A word that only a shell understands; empty: there is none.
std::string_view shell_word(const UnitLine& line) {
    constexpr std::array<std::string_view, 9> kWords{"|",  "||", "&&",   "&",         ">",
                                                     ">>", "<",  "2>&1", ">/dev/null"};
    if (line.value.find_first_of("|&<>") == std::string::npos) return {};
    // Quoted words are parted as they stand here: what is in quotes is not the shell's.
    for (const std::string_view word : words_of(std::string_view(line.value))) {
        const auto* known = std::find(kWords.begin(), kWords.end(), word);
        if (known != kWords.end()) return *known;
    }
    return {};
}

void check_shell_words(const Unit& unit, Report& report) {
    for (const UnitLine& line : unit.lines()) {
        if (line.section != "Service" || !line.key.starts_with("Exec")) continue;
        const Words words = program_of(line);
        if (words.empty()) continue;
        constexpr std::array<std::string_view, 5> kShells{"sh", "bash", "dash", "zsh", "ash"};
        const std::string_view program = base_name(words.front());
        if (std::find(kShells.begin(), kShells.end(), program) != kShells.end()) continue;
        const std::string_view word = shell_word(line);
        if (word.empty() || !has(words, word)) continue;
        report
            .add("SVC004", unit.mark(line),
                 line.key + " hands '" + std::string(word) + "' to " + std::string(program) +
                     " as an argument")
            .expected("/bin/sh -c '...', or a line of its own");
    }
}

/// Services that must be ready before a program uses GPUs.
bool is_driver_service(std::string_view name) {
    constexpr std::array<std::string_view, 6> kServices{
        "nvidia-persistenced.service", "nvidia-fabricmanager.service", "nvidia-mps.service",
        "nvidia-dcgm.service",         "nvidia-cdi-refresh.service",   "nvidia-imex.service"};
    return std::find(kServices.begin(), kServices.end(), name) != kServices.end();
}

void check_order(const Unit& unit, Report& report) {
    const Words after = unit.words("Unit", "After");
    const Words before = unit.words("Unit", "Before");
    for (const std::string_view key : {"Requires", "Wants", "BindsTo", "Requisite"}) {
        for (const UnitLine* line : unit.all("Unit", key)) {
            for (const std::string& name : syntax::unit_words(line->value)) {
                if (!is_driver_service(name) || has(after, name) || has(before, name)) continue;
                report
                    .add("SVC005", unit.mark(*line),
                         line->key + '=' + name + " without After=" + name +
                             ": both start at the same time")
                    .expected("After=" + name)
                    .fix("After=" + name);
            }
        }
    }
}

/// The section that a key belongs to; empty: not known, or in more than one.
std::string_view section_of(std::string_view key) {
    constexpr std::array<std::string_view, 16> kUnit{"After",
                                                     "Before",
                                                     "Requires",
                                                     "Wants",
                                                     "BindsTo",
                                                     "PartOf",
                                                     "Conflicts",
                                                     "Requisite",
                                                     "Description",
                                                     "Documentation",
                                                     "ConditionPathExists",
                                                     "AssertPathExists",
                                                     "StartLimitIntervalSec",
                                                     "OnFailure",
                                                     "DefaultDependencies",
                                                     "RequiresMountsFor"};
    constexpr std::array<std::string_view, 18> kService{"ExecStart",
                                                        "ExecStartPre",
                                                        "ExecStartPost",
                                                        "ExecStop",
                                                        "ExecReload",
                                                        "Restart",
                                                        "RestartSec",
                                                        "Type",
                                                        "User",
                                                        "Group",
                                                        "Environment",
                                                        "EnvironmentFile",
                                                        "WorkingDirectory",
                                                        "DeviceAllow",
                                                        "DevicePolicy",
                                                        "PrivateDevices",
                                                        "LimitMEMLOCK",
                                                        "TimeoutStartSec"};
    constexpr std::array<std::string_view, 4> kInstall{"WantedBy", "RequiredBy", "Also", "Alias"};
    const auto is_in = [key](const auto& keys) {
        return std::find(keys.begin(), keys.end(), key) != keys.end();
    };
    if (is_in(kUnit)) return "Unit";
    if (is_in(kService)) return "Service";
    return is_in(kInstall) ? "Install" : std::string_view();
}

void check_sections(const Unit& unit, Report& report) {
    for (const UnitLine& line : unit.lines()) {
        const bool ours =
            line.section == "Unit" || line.section == "Service" || line.section == "Install";
        const std::string_view wanted = section_of(line.key);
        if (!ours || wanted.empty() || wanted == line.section) continue;
        report
            .add("SVC006", unit.mark(line),
                 line.key + " stands in [" + line.section + "], where systemd passes it over")
            .expected(line.key + " in [" + std::string(wanted) + ']');
    }
}

}  // namespace

void check_unit_start(const Unit& unit, Report& report) {
    check_background(unit, report);
    check_shell_words(unit, report);
    check_order(unit, report);
    check_sections(unit, report);
}

}  // namespace aliquot::lint
