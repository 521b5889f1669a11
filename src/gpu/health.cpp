// SPDX-License-Identifier: Apache-2.0
#include "gpu/health.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "base/number.h"
#include "base/text.h"
#include "catalog/xid.h"

namespace aliquot::gpu {
namespace {

constexpr std::uint64_t kRecoveryActionChanged = 154;

// Values of the field GPU_RECOVERY_ACTION.
enum RecoveryAction : unsigned {
    kNone = 0,
    kReset = 1,
    kReboot = 2,
    kDrainPeers = 3,
    kDrainAndReset = 4,
    kRecoverDomain = 5,
    kBusReset = 6,
    kSystemReboot = 7,
};

Error malformed(std::string_view variable, std::string_view word) {
    return {ErrorCode::kInvalidInput,
            std::string(variable) + ": '" + std::string(word) +
                "' is not 'all', 'xids' or an Xid number; write a comma list such as 13,79"};
}

const catalog::Xid* find(std::uint64_t xid) {
    if (xid > std::numeric_limits<unsigned>::max()) return nullptr;
    return catalog::find_xid(static_cast<unsigned>(xid));
}

std::string advice_for(std::uint64_t xid) {
    const catalog::Xid* const known = find(xid);
    if (known != nullptr) return std::string(known->action);
    return "look the number up in NVIDIA's catalogue of Xid errors; reset the GPU";
}

/// The sum of what is wrong: the worst state, all reasons, the advice for the worst.
class Sum {
public:
    void add(Health::State state, std::string_view reason, std::string_view advice) {
        if (state == Health::State::kHealthy || reason.empty()) return;
        // "; GPU is lost" behind "Xid 79: ... GPU is lost" tells nothing new.
        if (!health_.reason.contains(reason)) {
            health_.reason += (health_.reason.empty() ? "" : "; ") + std::string(reason);
        }
        if (state > health_.state || health_.advice.empty()) health_.advice = advice;
        health_.state = std::max(health_.state, state);
    }
    [[nodiscard]] Health take() { return std::move(health_); }

private:
    Health health_;
};

bool holds(const MigPart& part, const std::pair<unsigned, unsigned>& instances) {
    return part.gpu_instance == instances.first &&
           part.compute_instance.value_or(instances.second) == instances.second;
}

std::string text_of(const MigPart& part) {
    std::string text = "GPU instance " + std::to_string(part.gpu_instance);
    if (part.compute_instance) {
        text += " compute instance " + std::to_string(*part.compute_instance);
    }
    return text;
}

/// What the driver's recovery action means for new work.
/// in_part   a fault of a MIG instance is known: the other instances may go on until the reset
std::optional<Health> asked_for(unsigned action, bool in_part) {
    switch (action) {
        case kReset:
            return Health{Health::State::kUnhealthy, "the driver asks for a GPU reset",
                          "drain the pods of this GPU and reset it: nvidia-smi --gpu-reset -i GPU"};
        case kBusReset:
            return Health{Health::State::kUnhealthy,
                          "the driver asks for a reset of the GPU's PCIe bus",
                          "drain the pods of this GPU and reset its bus, else restart the machine"};
        case kSystemReboot:
        case kReboot:
            return Health{Health::State::kUnhealthy, "the driver asks for a reboot of the node",
                          "drain the node and restart it"};
        case kDrainAndReset:
            return Health{in_part ? Health::State::kDegraded : Health::State::kUnhealthy,
                          "the driver asks to drain this GPU and reset it",
                          "drain the pods of this GPU, and of its NVLink peers, and reset it"};
        case kDrainPeers:
            return Health{Health::State::kDegraded,
                          "the driver asks to end peer-to-peer traffic of this GPU",
                          "let jobs that span several GPUs end; single-GPU work may go on"};
        case kRecoverDomain:
            return Health{Health::State::kDegraded, "the driver asks to recover the IMEX domain",
                          "restart the nvidia-imex service on the nodes of this NVLink domain"};
        default:
            return std::nullopt;
    }
}

void add_condition(const Condition& condition, Sum& sum) {
    if (condition.remap_failed.value_or(false)) {
        sum.add(Health::State::kUnhealthy, "a row of its memory could not be remapped",
                "replace the board");
    }
    if (condition.remap_pending.value_or(false)) {
        sum.add(Health::State::kDegraded, "rows of its memory wait for a reset to be remapped",
                "reset the GPU at the next maintenance window");
    }
    if (condition.retirement_pending.value_or(false)) {
        sum.add(Health::State::kDegraded, "pages of its memory wait for a reset to be retired",
                "reset the GPU at the next maintenance window");
    }
    if (condition.slowed_by_heat.value_or(false)) {
        sum.add(Health::State::kDegraded, "slowed down by heat",
                "check fans, air flow and the power limit");
    }
}

}  // namespace

Result<XidPolicy> XidPolicy::from_environment(std::string_view disable, std::string_view enable) {
    XidPolicy policy;
    for (const std::string_view word : split_list(disable)) {
        if (word == "all" || word == "xids") {
            policy.ignore_all = true;
        } else if (const auto xid = parse_number<std::uint64_t>(word)) {
            policy.ignored.insert(*xid);
        } else {
            return malformed("DP_DISABLE_HEALTHCHECKS", word);
        }
    }
    for (const std::string_view word : split_list(enable)) {
        const auto xid = parse_number<std::uint64_t>(word);
        if (!xid) return malformed("DP_ENABLE_HEALTHCHECKS", word);
        policy.enabled.insert(*xid);
    }
    return policy;
}

Health::State XidPolicy::effect(std::uint64_t xid) const {
    if (enabled.contains(xid)) return Health::State::kUnhealthy;
    if (ignore_all || ignored.contains(xid)) return Health::State::kHealthy;
    // It only announces that the recovery action changed; the probe reads the action itself.
    if (xid == kRecoveryActionChanged) return Health::State::kHealthy;
    const catalog::Xid* const known = find(xid);
    if (known == nullptr) return Health::State::kUnhealthy;
    switch (known->kind) {
        case catalog::XidClass::kApplication:
            return Health::State::kHealthy;
        case catalog::XidClass::kInformation:
            return known->plugin_unhealthy ? Health::State::kDegraded : Health::State::kHealthy;
        case catalog::XidClass::kDriver:
        case catalog::XidClass::kHardware:
            break;
    }
    return known->plugin_unhealthy ? Health::State::kUnhealthy : Health::State::kHealthy;
}

std::string xid_text(std::uint64_t xid) {
    std::string text = "Xid " + std::to_string(xid);
    if (const catalog::Xid* const known = find(xid)) text += ": " + std::string(known->meaning);
    return text;
}

std::string advice_for_silence(std::string_view problem) {
    if (problem.contains("lost")) return advice_for(79);
    if (problem.contains("reset")) return "drain the pods of this GPU and reset it";
    if (problem.contains("not list")) {
        return "look whether it was detached or its driver unbound; restart the machine";
    }
    return "look at the kernel log for NVRM lines; reset the GPU, else restart the machine";
}

HealthTracker::Record& HealthTracker::record_of(const Uuid& gpu, Moment now) {
    const auto [found, is_new] = records_.try_emplace(gpu);
    if (is_new) found->second.health.since = now;
    return found->second;
}

Health HealthTracker::judge(const Record& record) const {
    Sum sum;
    if (record.fault) {
        sum.add(record.fault->effect, xid_text(record.fault->xid), advice_for(record.fault->xid));
    }
    if (!record.silence.empty()) {
        sum.add(Health::State::kUnhealthy, record.silence, advice_for_silence(record.silence));
    }
    if (const auto asked =
            record.action ? asked_for(*record.action, !record.parts.empty()) : std::nullopt) {
        sum.add(asked->state, asked->reason, asked->advice);
    }
    add_condition(record.condition, sum);
    if (!driver_problem_.empty()) sum.add(Health::State::kUnhealthy, driver_problem_, {});
    return sum.take();
}

bool HealthTracker::settle(Record& record, Moment now) const {
    bool changed = false;
    const auto replace = [&](Health& old, Health now_is) {
        const bool same = old.state == now_is.state && old.reason == now_is.reason;
        now_is.since = old.state == now_is.state && old.since != Moment{} ? old.since : now;
        old = std::move(now_is);
        changed = changed || !same;
    };
    replace(record.health, judge(record));
    changed =
        std::erase_if(record.of_parts,
                      [&](const auto& one) { return !record.parts.contains(one.first); }) > 0 ||
        changed;
    for (const auto& [part, fault] : record.parts) {
        Sum sum;
        sum.add(fault.effect, xid_text(fault.xid) + " on " + text_of(part), advice_for(fault.xid));
        replace(record.of_parts[part], sum.take());
    }
    return changed;
}

bool HealthTracker::note_inventory(const Inventory& inventory, Moment now) {
    bool changed = false;
    for (const Gpu& gpu : inventory.gpus) {
        if (gpu.uuid.text.empty()) continue;
        Record& record = record_of(gpu.uuid, now);
        record.silence = gpu.health.ok() ? "" : gpu.health.reason;
        if (!gpu.health.ok() && record.fault) record.was_silent = true;
        if (gpu.health.ok()) {
            record.devices.clear();
            for (const MigDevice& device : gpu.mig_devices) {
                record.devices[{device.gpu_instance, device.compute_instance}] = device.uuid;
            }
            // A fault ends with the instance it happened on.
            std::erase_if(record.parts, [&](const auto& one) {
                return std::ranges::none_of(record.devices, [&](const auto& device) {
                    return holds(one.first, device.first) &&
                           (one.second.devices.empty() ||
                            one.second.devices.contains(device.second));
                });
            });
        }
        changed = settle(record, now) || changed;
    }
    return changed;
}

bool HealthTracker::note_faults(std::span<const FaultEvent> faults, Moment now) {
    bool changed = false;
    for (const FaultEvent& event : faults) {
        // An event without a GPU is about the node; it takes no GPU away.
        if (event.gpu.text.empty() || event.reconfigured) continue;
        Record& record = record_of(event.gpu, now);
        record.seen.push_back({event.xid, now, event.gpu_instance, event.compute_instance});
        if (record.seen.size() > kMostSeen) record.seen.pop_front();
        if (record.counts.size() < kMostNumbers || record.counts.contains(event.xid)) {
            XidCount& counted = record.counts[event.xid];
            counted = {.xid = event.xid, .count = counted.count + 1, .last = now};
        }
        changed = true;
        const Health::State effect = policy_.effect(event.xid);
        if (effect == Health::State::kHealthy) continue;
        Fault fault{.xid = event.xid, .effect = effect, .since = now, .devices = {}};
        if (event.gpu_instance) {
            const MigPart part{*event.gpu_instance, event.compute_instance};
            for (const auto& [ids, uuid] : record.devices) {
                if (holds(part, ids)) fault.devices.insert(uuid);
            }
            // A lesser fault does not hide a greater one that was there first.
            const auto known = record.parts.find(part);
            if (known == record.parts.end() || known->second.effect <= effect) {
                record.parts.insert_or_assign(part, std::move(fault));
            }
        } else if (!record.fault || record.fault->effect <= effect) {
            record.fault = std::move(fault);
        }
        record.was_silent = false;
        settle(record, now);
    }
    return changed;
}

bool HealthTracker::note_probes(std::span<const Probe> probes, Moment now) {
    bool changed = false;
    for (const Probe& probe : probes) {
        Record& record = record_of(probe.gpu, now);
        if (!probe.answers) {
            record.silence = probe.problem.empty() ? "does not answer" : probe.problem;
            record.was_silent = true;
            record.action.reset();
        } else {
            record.silence.clear();
            record.condition = probe.condition;
            record.action = probe.recovery_action;
            const bool recovered =
                probe.recovery_action ? *probe.recovery_action == kNone : record.was_silent;
            if (recovered) {
                // What only informs of work to be done at leisure stays until a reset was seen, or
                // is taken over by what the GPU itself reports.
                const bool reports = probe.condition.remap_pending.has_value() ||
                                     probe.condition.retirement_pending.has_value();
                const auto over = [&](const Fault& fault) {
                    return fault.effect == Health::State::kUnhealthy || record.was_silent ||
                           reports;
                };
                if (record.fault && over(*record.fault)) record.fault.reset();
                std::erase_if(record.parts, [&](const auto& one) { return over(one.second); });
                record.was_silent = false;
            }
        }
        changed = settle(record, now) || changed;
    }
    return changed;
}

bool HealthTracker::note_driver(std::string_view problem, Moment now) {
    if (driver_problem_ == problem) return false;
    driver_problem_ = problem;
    bool changed = false;
    for (auto& [uuid, record] : records_) changed = settle(record, now) || changed;
    return changed;
}

Health HealthTracker::health_of(const Uuid& gpu) const {
    const auto found = records_.find(gpu);
    return found == records_.end() ? Health{} : found->second.health;
}

Health HealthTracker::health_of(const Uuid& gpu, const MigDevice& device) const {
    const auto found = records_.find(gpu);
    Health worst = device.health;
    if (found == records_.end()) return worst;
    for (const auto& [part, health] : found->second.of_parts) {
        if (!holds(part, std::pair{device.gpu_instance, device.compute_instance})) continue;
        if (health.state > worst.state) worst = health;
    }
    return worst;
}

std::vector<XidCount> HealthTracker::counted_on(const Uuid& gpu) const {
    std::vector<XidCount> counts;
    const auto found = records_.find(gpu);
    if (found == records_.end()) return counts;
    for (const auto& [xid, count] : found->second.counts) counts.push_back(count);
    return counts;
}

std::vector<SeenXid> HealthTracker::seen_on(const Uuid& gpu) const {
    const auto found = records_.find(gpu);
    if (found == records_.end()) return {};
    return {found->second.seen.begin(), found->second.seen.end()};
}

}  // namespace aliquot::gpu
