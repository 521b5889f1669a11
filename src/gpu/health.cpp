// SPDX-License-Identifier: Apache-2.0
#include "gpu/health.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

namespace aliquot::gpu {
namespace {

constexpr std::array<std::uint64_t, 6> kApplicationFaults{13, 31, 43, 45, 68, 109};

constexpr std::array<std::pair<std::uint64_t, std::string_view>, 25> kXidTexts{
    {{13, "graphics engine exception"},
     {31, "GPU memory page fault"},
     {43, "GPU stopped processing"},
     {45, "preemptive cleanup"},
     {48, "double-bit ECC error"},
     {61, "internal micro-controller breakpoint"},
     {62, "internal micro-controller halt"},
     {63, "row remapping or page retirement recorded"},
     {64, "row remapping or page retirement failed"},
     {68, "video processor exception"},
     {69, "graphics engine class error"},
     {74, "NVLink error"},
     {79, "GPU has fallen off the bus"},
     {92, "high single-bit ECC error rate"},
     {94, "contained memory error"},
     {95, "uncontained memory error"},
     {109, "context switch timeout"},
     {110, "security fault"},
     {119, "GSP RPC timeout"},
     {120, "GSP error"},
     {121, "C2C link error"},
     {136, "event on another GPU of the link"},
     {140, "unrecovered ECC error"},
     {143, "GPU initialisation failure"},
     {154, "recovery action changed"}}};

std::optional<std::uint64_t> number(std::string_view text) {
    std::uint64_t value = 0;
    const auto [stop, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (problem != std::errc{} || stop != text.data() + text.size()) return std::nullopt;
    return value;
}

std::vector<std::string_view> words(std::string_view list) {
    std::vector<std::string_view> result;
    while (!list.empty()) {
        const std::size_t comma = std::min(list.find(','), list.size());
        std::string_view word = list.substr(0, comma);
        while (word.starts_with(' ')) word.remove_prefix(1);
        while (word.ends_with(' ')) word.remove_suffix(1);
        if (!word.empty()) result.push_back(word);
        list.remove_prefix(std::min(comma + 1, list.size()));
    }
    return result;
}

Error malformed(std::string_view variable, std::string_view word) {
    return {ErrorCode::kInvalidInput,
            std::string(variable) + ": '" + std::string(word) +
                "' is not 'all', 'xids' or an Xid number; write a comma list such as 13,79"};
}

}  // namespace

Result<XidPolicy> XidPolicy::from_environment(std::string_view disable, std::string_view enable) {
    XidPolicy policy;
    policy.ignored.insert(kApplicationFaults.begin(), kApplicationFaults.end());
    for (const std::string_view word : words(disable)) {
        if (word == "all" || word == "xids") {
            policy.ignore_all = true;
        } else if (const auto xid = number(word)) {
            policy.ignored.insert(*xid);
        } else {
            return malformed("DP_DISABLE_HEALTHCHECKS", word);
        }
    }
    for (const std::string_view word : words(enable)) {
        const auto xid = number(word);
        if (!xid) return malformed("DP_ENABLE_HEALTHCHECKS", word);
        policy.enabled.insert(*xid);
    }
    return policy;
}

bool XidPolicy::counts(std::uint64_t xid) const {
    if (enabled.contains(xid)) return true;
    return !ignore_all && !ignored.contains(xid);
}

std::string xid_text(std::uint64_t xid) {
    std::string text = "Xid " + std::to_string(xid);
    const auto* const known =
        std::ranges::find(kXidTexts, xid, &std::pair<std::uint64_t, std::string_view>::first);
    if (known != kXidTexts.end()) text += ": " + std::string(known->second);
    return text;
}

bool HealthBook::note_inventory(const Inventory& inventory) {
    bool changed = false;
    for (const Gpu& gpu : inventory.gpus) {
        if (gpu.uuid.text.empty()) continue;
        Record& record = records_[gpu.uuid];
        const Record before = record;
        record.silence = gpu.health.reason;
        if (!gpu.health.ok() && !record.fault.empty()) record.was_silent = true;
        changed = changed || !(record == before);
    }
    return changed;
}

bool HealthBook::note_faults(std::span<const FaultEvent> faults) {
    bool changed = false;
    for (const FaultEvent& event : faults) {
        // An event without a GPU is about the node; it takes no GPU away.
        if (event.gpu.text.empty() || event.xid == 0 || !policy_.counts(event.xid)) continue;
        // 154 only announces that the recovery action changed; the probe reads the action itself.
        if (event.xid == 154) continue;
        Record& record = records_[event.gpu];
        const Record before = record;
        record.fault = xid_text(event.xid);
        record.was_silent = false;
        changed = changed || !(record == before);
    }
    return changed;
}

bool HealthBook::note_probes(std::span<const Probe> probes) {
    bool changed = false;
    for (const Probe& probe : probes) {
        Record& record = records_[probe.gpu];
        const Record before = record;
        if (!probe.answers) {
            record.silence = probe.problem.empty() ? "does not answer" : probe.problem;
            if (!record.fault.empty()) record.was_silent = true;
        } else {
            record.silence.clear();
            const bool recovered =
                probe.recovery_action ? *probe.recovery_action == 0 : record.was_silent;
            if (recovered) record = Record{};
        }
        changed = changed || !(record == before);
    }
    return changed;
}

Health HealthBook::health_of(const Uuid& gpu) const {
    const auto found = records_.find(gpu);
    if (found == records_.end()) return {};
    const Record& record = found->second;
    if (record.fault.empty() && record.silence.empty()) return {};
    std::string reason = record.fault;
    if (!record.silence.empty()) reason += (reason.empty() ? "" : "; ") + record.silence;
    return {Health::State::kUnhealthy, std::move(reason)};
}

}  // namespace aliquot::gpu
