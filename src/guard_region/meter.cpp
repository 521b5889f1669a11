// SPDX-License-Identifier: Apache-2.0
#include "guard_region/meter.h"

#include <algorithm>
#include <map>

namespace aliquot::guard_region {
namespace {

Result<LedgerView> read(const Metered& region) {
    if (region.ledger != nullptr) return region.ledger->read();
    return Error{ErrorCode::kUnavailable, region.problem};
}

std::optional<unsigned> slot_of(const HostProcess& process, const LedgerView* ledger) {
    if (ledger == nullptr) return std::nullopt;
    for (const SlotView& slot : ledger->slots) {
        if (slot.alive && process.owns(slot)) return slot.index;
    }
    return std::nullopt;
}

}  // namespace

Meter::Answer Meter::ask(const std::string& uuid) {
    const auto processes = sensors_.processes({uuid});
    if (!processes) return {};
    Answer answer{.ok = true};
    for (const gpu::Process& one : *processes) {
        auto process = processes_.look(static_cast<pid_t>(one.pid));
        if (!process) continue;  // it has ended, or is of a pid namespace that we do not see
        answer.held.push_back({.process = *std::move(process), .bytes = one.memory_bytes});
    }
    return answer;
}

void Meter::measure(const Metered& region, const Result<LedgerView>& before, Reading& reading) {
    if (!before || !reading.ledger) return;
    reading.truths = find_truths(*before, *reading.ledger, reading.devices);
    overheads_.smooth(region.id, *reading.ledger, region.uuids, reading.truths);
}

std::vector<Reading> Meter::look(std::span<const Metered> regions) {
    const Error unused{ErrorCode::kNotFound, "nobody was there"};
    std::vector<Result<LedgerView>> before;
    std::map<std::string, Answer> answers;
    before.reserve(regions.size());
    for (const Metered& region : regions) {
        before.push_back(used_.contains(region.id) ? read(region) : unused);
    }
    for (const Metered& region : regions) {
        for (const std::string& uuid : region.uuids) {
            if (!answers.contains(uuid)) answers.emplace(uuid, ask(uuid));
        }
    }
    used_.clear();
    std::vector<Reading> readings;
    readings.reserve(regions.size());
    for (std::size_t i = 0; i < regions.size(); ++i) {
        const Metered& region = regions[i];
        Reading& reading = readings.emplace_back();
        auto after = read(region);
        if (after) {
            reading.ledger = *std::move(after);
        } else {
            reading.problem = after.error().message;
        }
        bool answered = false;
        bool used = reading.ledger && !reading.ledger->slots.empty();
        for (const std::string& uuid : region.uuids) {
            const Answer& answer = answers.at(uuid);
            answered = answered || answer.ok;
            DeviceReading& device = reading.devices.emplace_back();
            device.uuid = uuid;
            device.answered = answer.ok;
            for (const Held& one : answer.held) {
                if (region.by_mount && one.process.region != region.id) continue;
                Held held = one;
                held.slot = slot_of(held.process, reading.ledger ? &*reading.ledger : nullptr);
                if (!region.by_mount && !held.slot) continue;
                device.held.push_back(std::move(held));
            }
            used = used || !device.held.empty();
        }
        if (used) used_.insert(region.id);
        measure(region, before[i], reading);
        if (region.config == nullptr) continue;
        for (const SlotTruth& truth : reading.truths) region.config->set_truth(truth);
        if (reading.ledger) apply_truth(*region.config, *reading.ledger);
        if (!answered) continue;
        if (!reading.truths.empty()) region.config->publish_truth();
        region.config->beat();
    }
    overheads_.end_look();
    return readings;
}

}  // namespace aliquot::guard_region
