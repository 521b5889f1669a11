// SPDX-License-Identifier: Apache-2.0
#include "guard_region/truth.h"

#include <algorithm>

#include "guard_region/uuid.h"

namespace aliquot::guard_region {
namespace {

SlotUse use_of(const LedgerView& ledger, const SlotView& slot, const std::string& uuid) {
    const auto name = parse_uuid(uuid);
    const auto place = name ? ledger.place_of(*name) : std::nullopt;
    return place ? slot.devices[*place] : SlotUse{};
}

std::optional<std::uint64_t> overhead(const SlotUse& before, const SlotUse& after,
                                      const Held& held) {
    if (!held.bytes) return abi::kNotMeasured;
    const bool still = before.tracked_bytes == after.tracked_bytes &&
                       before.managed_bytes == after.managed_bytes &&
                       before.changes == after.changes;
    if (!still) return std::nullopt;
    const std::uint64_t resident =
        after.tracked_bytes - std::min(after.tracked_bytes, after.managed_bytes);
    return *held.bytes - std::min(*held.bytes, resident);
}

}  // namespace

std::uint64_t DeviceReading::held_bytes() const {
    std::uint64_t sum = 0;
    for (const Held& one : held) sum = saturating_add(sum, one.bytes.value_or(0));
    return sum;
}

unsigned DeviceReading::unguarded() const {
    return static_cast<unsigned>(
        std::ranges::count_if(held, [](const Held& one) { return !one.slot; }));
}

std::vector<SlotTruth> find_truths(const LedgerView& before, const LedgerView& after,
                                   const std::vector<DeviceReading>& devices) {
    std::vector<SlotTruth> truths;
    for (const SlotView& slot : after.slots) {
        if (!slot.alive) continue;
        const SlotView* const earlier = before.find(slot.index, slot.owner);
        SlotTruth truth{.slot = slot.index, .owner = slot.owner};
        bool any = false;
        for (std::size_t place = 0; place < devices.size() && place < abi::kRegionDevices;
             ++place) {
            const auto held = std::ranges::find(devices[place].held, slot.index, &Held::slot);
            if (held == devices[place].held.end()) continue;
            any = true;
            truth.host_pid = held->process.pid;
            if (earlier == nullptr) continue;  // it joined in between
            truth.overhead_bytes[place] = overhead(use_of(before, *earlier, devices[place].uuid),
                                                   use_of(after, slot, devices[place].uuid), *held);
        }
        if (any) truths.push_back(truth);
    }
    return truths;
}

void apply_truth(const ConfigFile& config, LedgerView& ledger) {
    const Settings settings = config.settings();
    for (unsigned i = 0; i < settings.devices.size(); ++i) {
        const auto uuid = parse_uuid(settings.devices[i].uuid);
        const auto place = uuid ? ledger.place_of(*uuid) : std::nullopt;
        if (!place) continue;
        for (SlotView& slot : ledger.slots) {
            const auto told = config.told_overhead(slot.index, slot.owner, i);
            if (told && slot.devices[*place].contexts > 0) {
                slot.devices[*place].overhead_bytes = *told;
            }
        }
    }
}

}  // namespace aliquot::guard_region
