// SPDX-License-Identifier: Apache-2.0
#include "doctor/check.h"

#include <array>
#include <utility>

#include "doctor/cluster.h"
#include "doctor/text.h"

namespace aliquot::doctor {
namespace {

Verdict verdict(Outcome outcome, std::string message) {
    Verdict made;
    made.outcome = outcome;
    made.message = std::move(message);
    return made;
}

}  // namespace

Source source_of(std::string_view path) {
    if (path.starts_with("k8s/")) return Source::kApi;
    if (path.starts_with("cmd/")) return Source::kCommand;
    if (path.starts_with("logs/") || path.starts_with("/var/log/")) return Source::kLog;
    return Source::kFile;
}

Evidence evidence_of(const Said& said, std::string expected) {
    return {
        .path = said.path, .line = said.line, .value = said.text, .expected = std::move(expected)};
}

std::string_view to_text(Outcome outcome) {
    constexpr std::array<std::string_view, 5> kWords{"ok", "warning", "failed", "skipped",
                                                     "unknown"};
    return kWords.at(static_cast<std::size_t>(outcome));
}

std::string_view to_text(Source source) {
    constexpr std::array<std::string_view, 4> kWords{"file", "command", "api", "log"};
    return kWords.at(static_cast<std::size_t>(source));
}

std::string_view to_text(Risk risk) {
    constexpr std::array<std::string_view, 9> kWords{
        "none",  "restart-pods",  "restart-runtime", "restart-kubelet", "reload the module",
        "drain", "drain, reboot", "reboot",          "data-loss"};
    return kWords.at(static_cast<std::size_t>(risk));
}

std::string_view to_text(Fix::Kind kind) {
    constexpr std::array<std::string_view, 3> kWords{"command", "edit", "note"};
    return kWords.at(static_cast<std::size_t>(kind));
}

std::string_view to_text(Confidence confidence) {
    constexpr std::array<std::string_view, 3> kWords{"certain", "likely", "guess"};
    return kWords.at(static_cast<std::size_t>(confidence));
}

std::string_view to_text(Level level) {
    constexpr std::array<std::string_view, kLevels> kWords{
        "hardware",      "kernel driver", "user libraries", "container runtime", "kubelet",
        "device plugin", "node",          "scheduling",     "containers",        "run time"};
    return kWords.at(static_cast<std::size_t>(level));
}

Verdict& Verdict::because(Evidence one) & {
    one.value = clip(one.value, 300);
    constexpr std::size_t kMostEvidence = 20;
    if (evidence.size() < kMostEvidence) evidence.push_back(std::move(one));
    return *this;
}

Verdict& Verdict::because(const Location& place, std::string expected) & {
    return because(Evidence{.path = place.path,
                            .line = place.line,
                            .value = place.text,
                            .expected = std::move(expected)});
}

Verdict& Verdict::fix(std::string command, Risk risk) & {
    fixes.push_back({Fix::Kind::kCommand, risk, std::move(command)});
    return *this;
}

Verdict& Verdict::note(std::string text) & {
    fixes.push_back({Fix::Kind::kNote, Risk::kNone, std::move(text)});
    return *this;
}

Verdict& Verdict::edit(std::string text, Risk risk) & {
    fixes.push_back({Fix::Kind::kEdit, risk, std::move(text)});
    return *this;
}

Verdict& Verdict::as(Confidence how) & {
    confidence = how;
    return *this;
}

Verdict ok(std::string message) { return verdict(Outcome::kOk, std::move(message)); }
Verdict failed(std::string message) { return verdict(Outcome::kFailed, std::move(message)); }
Verdict warning(std::string message) { return verdict(Outcome::kWarning, std::move(message)); }
Verdict unknown(std::string reason) { return verdict(Outcome::kUnknown, std::move(reason)); }
Verdict not_here(std::string reason) { return verdict(Outcome::kSkipped, std::move(reason)); }

std::vector<Check> all_checks() {
    std::vector<Check> all;
    for (const auto table : {hardware_checks(),        driver_checks(),  nvml_checks(),
                             gpu_state_checks(),       xid_checks(),     runtime_checks(),
                             toolkit_checks(),         kubelet_checks(), mps_checks(),
                             operator_checks(),        plugin_checks(),  node_label_checks(),
                             agent_checks(),           node_checks(),    scheduling_checks(),
                             container_checks(),       start_checks(),   performance_checks(),
                             pod_performance_checks(), slow_checks()}) {
        all.insert(all.end(), table.begin(), table.end());
    }
    return all;
}

}  // namespace aliquot::doctor
