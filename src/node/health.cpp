// SPDX-License-Identifier: Apache-2.0
#include "node/health.h"

#include <algorithm>
#include <array>
#include <map>

#include "node/names.h"

namespace aliquot::node {
namespace {

using State = gpu::Health::State;

std::string title_of(const gpu::Gpu& gpu) {
    return "GPU " + std::to_string(gpu.index) +
           (gpu.uuid.text.empty() ? "" : " (" + gpu.uuid.text + ")");
}

std::string title_of(const gpu::Gpu& gpu, const gpu::MigDevice& device) {
    return "MIG device " + device.profile + " (" + device.uuid.text + ") of GPU " +
           std::to_string(gpu.index);
}

std::string sentence(const std::string& title, const gpu::Health& health) {
    std::string text = title + ": " + (health.reason.empty() ? "not healthy" : health.reason);
    if (!health.advice.empty()) text += "; " + health.advice;
    return text;
}

/// "GpuXid79" of "Xid 79: ..."; else by the state.
std::string reason_of(std::string_view subject, const gpu::Health& health) {
    constexpr std::string_view kXid = "Xid ";
    if (health.reason.starts_with(kXid)) {
        std::string number;
        for (const char c : std::string_view(health.reason).substr(kXid.size())) {
            if (c < '0' || c > '9') break;
            number += c;
        }
        if (!number.empty()) return std::string(subject) + "Xid" + number;
    }
    return std::string(subject) + (health.state == State::kUnhealthy ? "Unhealthy" : "Degraded");
}

void note_change(std::vector<Note>& notes, std::string_view subject, const std::string& title,
                 const gpu::Health* before, const gpu::Health& now) {
    const State was = before == nullptr ? State::kHealthy : before->state;
    if (now.state == State::kHealthy) {
        if (was == State::kHealthy) return;
        notes.push_back({.reason = std::string(subject) + "Recovered",
                         .action = "HealthCheck",
                         .text = title + ": healthy again"});
        return;
    }
    if (was == now.state && before != nullptr && before->reason == now.reason) return;
    notes.push_back({.warning = true,
                     .reason = reason_of(subject, now),
                     .action = "HealthCheck",
                     .text = sentence(title, now)});
}

unsigned count_unhealthy(const gpu::Inventory& inventory) {
    return static_cast<unsigned>(std::ranges::count_if(
        inventory.gpus, [](const gpu::Gpu& gpu) { return !gpu.health.ok(); }));
}

std::string how_many(std::size_t count) {
    return std::to_string(count) + (count == 1 ? " GPU" : " GPUs");
}

constexpr std::array<std::string_view, 4> kMigStates{"", "pending", "success", "failed"};

}  // namespace

Result<TaintPolicy> parse_taint_policy(std::string_view word) {
    if (word == "off") return TaintPolicy::kOff;
    if (word == "all") return TaintPolicy::kAll;
    if (word == "any") return TaintPolicy::kAny;
    return Error{ErrorCode::kInvalidInput, "'" + std::string(word) + "' is not off, all or any"};
}

Condition health_condition(const gpu::Inventory& inventory, std::string_view driver_problem) {
    Condition condition{.type = kGpuHealthy};
    if (!driver_problem.empty()) {
        condition.good = false;
        condition.reason = "DriverProblem";
        condition.message = "the GPU driver: " + std::string(driver_problem);
        return condition;
    }
    bool parts = false;
    for (const gpu::Gpu& gpu : inventory.gpus) {
        if (gpu.health.state != State::kHealthy) {
            condition.message +=
                (condition.message.empty() ? "" : ". ") + sentence(title_of(gpu), gpu.health);
        }
        for (const gpu::MigDevice& device : gpu.mig_devices) {
            if (device.health.state == State::kHealthy) continue;
            parts = parts || !device.health.ok();
            condition.message += (condition.message.empty() ? "" : ". ") +
                                 sentence(title_of(gpu, device), device.health);
        }
    }
    const unsigned bad = count_unhealthy(inventory);
    condition.good = bad == 0 && !parts;
    if (condition.message.empty()) {
        condition.reason = "AllGpusHealthy";
        condition.message = how_many(inventory.gpus.size()) + ", all healthy";
        return condition;
    }
    condition.reason = bad > 0 ? "GpuUnhealthy" : parts ? "MigDeviceUnhealthy" : "GpuDegraded";
    condition.message += ". " + std::to_string(inventory.gpus.size() - bad) + " of " +
                         how_many(inventory.gpus.size()) + " can be used";
    return condition;
}

std::vector<k8s::Taint> health_taints(TaintPolicy policy, const gpu::Inventory& inventory,
                                      std::string_view driver_problem) {
    if (policy == TaintPolicy::kOff || inventory.gpus.empty()) return {};
    const unsigned bad = count_unhealthy(inventory);
    const bool none_left = bad == inventory.gpus.size() || !driver_problem.empty();
    if (!none_left && !(policy == TaintPolicy::kAny && bad > 0)) return {};
    return {{kUnhealthyTaint, "true", "NoSchedule"}};
}

std::vector<Note> health_notes(const gpu::Inventory& before, const gpu::Inventory& now) {
    std::vector<Note> notes;
    for (const gpu::Gpu& gpu : now.gpus) {
        const gpu::Gpu* const old = before.find(gpu.uuid);
        note_change(notes, "Gpu", title_of(gpu), old == nullptr ? nullptr : &old->health,
                    gpu.health);
        for (const gpu::MigDevice& device : gpu.mig_devices) {
            const gpu::Health* was = nullptr;
            if (old != nullptr) {
                const auto found =
                    std::ranges::find(old->mig_devices, device.uuid, &gpu::MigDevice::uuid);
                if (found != old->mig_devices.end()) was = &found->health;
            }
            note_change(notes, "MigDevice", title_of(gpu, device), was, device.health);
        }
    }
    return notes;
}

Condition config_condition(const ConfigStatus& told, std::string_view place,
                           std::string_view refused) {
    Condition condition{.type = kGpuConfigServed,
                        .good = told.served && told.waiting.empty() && told.shortage.empty() &&
                                told.claims_problem.empty() && told.claims_refused.empty()};
    if (!told.served) {
        condition.reason = "ConfigRefused";
        condition.message =
            told.problem + "; " +
            (told.instead.empty() ? "the last good configuration is served" : told.instead);
    } else if (!refused.empty() || !told.shortage.empty()) {
        condition.good = false;
        condition.reason = kLimitsNotKept;
        condition.message = "no share with limits can be given out: " +
                            (refused.empty() ? told.shortage : std::string(refused));
    } else if (!told.claims_problem.empty()) {
        condition.reason = "DraLabelRefused";
        condition.message = told.claims_problem;
    } else if (!told.claims_refused.empty()) {
        condition.reason = "DraModeRefused";
        condition.message = told.claims_refused;
    } else if (told.key.empty()) {
        condition.reason = "BuiltIn";
        condition.message = "whole GPUs: nothing is configured in " + std::string(place);
    } else {
        condition.reason = "ConfigServed";
        condition.message = "key " + told.key + " of " + std::string(place) + " (" +
                            (told.source == ConfigChoice::Source::kLabel
                                 ? "by the node's label"
                                 : "the " + std::string(to_text(told.source)) + " one") +
                            ")";
    }
    if (told.served && !told.waiting.empty() && condition.reason != kLimitsNotKept &&
        told.claims_problem.empty() && told.claims_refused.empty()) {
        condition.reason = kConfigPending;
    }
    constexpr std::size_t kMostNamed = 8;
    for (std::size_t i = 0; i < told.waiting.size() && i < kMostNamed; ++i) {
        condition.message += "; " + sharing::to_text(told.waiting[i]);
    }
    if (told.waiting.size() > kMostNamed) {
        condition.message +=
            "; and so " + std::to_string(told.waiting.size() - kMostNamed) + " more devices";
    }
    return condition;
}

std::string_view to_text(MigStatus::State state) {
    return kMigStates.at(static_cast<std::size_t>(state));
}

Condition mig_condition(const MigStatus& told) {
    Condition condition{.type = kMigConfigServed, .good = told.state == MigStatus::State::kSuccess};
    const std::string name = "MIG configuration '" + told.config + "'";
    if (condition.good) {
        condition.reason = "MigConfigServed";
        condition.message = name + " is in place";
    } else {
        condition.reason =
            told.state == MigStatus::State::kPending ? "MigConfigPending" : "MigConfigFailed";
        condition.message = name + ": " + told.problem;
    }
    return condition;
}

}  // namespace aliquot::node
