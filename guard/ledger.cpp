// SPDX-License-Identifier: Apache-2.0
#include "guard/ledger.h"

#include <cstring>

#include "guard/figures.h"
#include "guard/kernel.h"

namespace aliquot::guard {
// ---- devices ----------------------------------------------------------------------------------

const abi::DeviceLimits* Ledger::limits_of(const abi::DeviceUuid& uuid, unsigned container_index,
                                           abi::DeviceLimits& room) const {
    if (config_ != nullptr) {
        for (const abi::DeviceLimits& limits : config_->devices)
            if (same(limits.uuid, uuid)) return &limits;
        return &room;
    }
    const unsigned index =
        container_index < abi::kRegionDevices ? container_index : abi::kRegionDevices - 1;
    room.memory_bytes.store(settings_->memory_bytes[index], std::memory_order_relaxed);
    room.cap_ppm.store(settings_->cap_ppm[index], std::memory_order_relaxed);
    room.weight.store(settings_->weight, std::memory_order_relaxed);
    return &room;
}

void Ledger::set_limits(Device& device, unsigned container_index) {
    device.config_place = kNone;
    device.limits = limits_of(device.uuid, container_index, device.own);
    if (device.limits != &device.own)
        device.config_place = static_cast<unsigned>(device.limits - config_->devices);
}

unsigned Ledger::find(const abi::DeviceUuid& uuid) const {
    for (unsigned i = 0; i < abi::kRegionDevices; ++i)
        if (same(ledger_->devices[i].uuid, uuid)) return i;
    return kNone;
}

/// Under the lock: a place whose device the container does not have and nobody uses; kNone: there is
/// none. Only a config tells which devices there are.
unsigned Ledger::foreign_place() const {
    if (config_ == nullptr) return kNone;
    for (unsigned i = 0; i < abi::kRegionDevices; ++i) {
        bool ours = knows(i);
        for (const abi::DeviceLimits& limits : config_->devices)
            ours = ours || same(limits.uuid, ledger_->devices[i].uuid);
        for (unsigned s = 0; s < ledger_->slots_high.load() && s < abi::kRegionSlots; ++s) {
            const abi::SlotDevice& use = ledger_->slots[s].devices[i];
            ours = ours || (value(ledger_->slots[s].owner) != 0 &&
                            (value(use.tracked_bytes) != 0 || value(use.overhead_bytes) != 0 ||
                             use.contexts.load(std::memory_order_relaxed) != 0));
        }
        if (!ours) return i;
    }
    return kNone;
}

unsigned Ledger::place_of(const abi::DeviceUuid& uuid, unsigned container_index) {
    const Locked locked(*this);
    unsigned place = find(uuid);
    if (place == kNone) {
        place = find(abi::DeviceUuid{});
        if (place == kNone) place = foreign_place();
        if (place == kNone) return kNone;
        set(ledger_->devices[place].used_bytes, 0);
        ledger_->devices[place].uuid = uuid;
    }
    const std::uint32_t bit = 1U << place;
    if ((devices_known_.load(std::memory_order_relaxed) & bit) == 0) {
        devices_[place].uuid = uuid;
        set_limits(devices_[place], container_index);
        devices_known_.fetch_or(bit, std::memory_order_release);
    }
    return place;
}

// ---- bytes ------------------------------------------------------------------------------------

/// Under the lock.
void Ledger::change(unsigned place, std::uint64_t bytes, bool add, Part part) {
    abi::SlotDevice& own = ledger_->slots[slot_].devices[place];
    abi::DeviceLedger& totals = ledger_->devices[place];
    std::atomic<std::uint64_t>& figure =
        part == Part::kOverhead ? own.overhead_bytes : own.tracked_bytes;
    const std::uint64_t before = value(figure);
    if (!add && bytes > before) bytes = before;
    set(figure, add ? before + bytes : before - bytes);
    if (part == Part::kManaged)
        set(own.managed_bytes,
            add ? value(own.managed_bytes) + bytes : less(value(own.managed_bytes), bytes));
    const std::uint64_t used =
        add ? value(totals.used_bytes) + bytes : less(value(totals.used_bytes), bytes);
    set(totals.used_bytes, used);
    if (used > value(totals.peak_bytes)) set(totals.peak_bytes, used);
    own.changes.store(own.changes.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

bool Ledger::grow(unsigned place, std::uint64_t bytes, Part part) {
    take_truth();
    const Device& device = devices_[place];
    const std::uint64_t limit = device.memory_limit();
    const Locked locked(*this);
    if (limit != 0) {
        const std::uint64_t used = value(ledger_->devices[place].used_bytes);
        if (used > limit || bytes > limit - used) return false;
    }
    change(place, bytes, true, part);
    return true;
}

void Ledger::force(unsigned place, std::uint64_t bytes, Part part) {
    const Locked locked(*this);
    change(place, bytes, true, part);
}

void Ledger::shrink(unsigned place, std::uint64_t bytes, Part part) {
    const Locked locked(*this);
    change(place, bytes, false, part);
}

void Ledger::set_overhead(unsigned place, std::uint64_t bytes) {
    const Locked locked(*this);
    const std::uint64_t before = value(own(place).overhead_bytes);
    if (bytes > before)
        change(place, bytes - before, true, Part::kOverhead);
    else
        change(place, before - bytes, false, Part::kOverhead);
}

void Ledger::count_context(unsigned place, int change_by) {
    const Locked locked(*this);
    abi::SlotDevice& mine = own(place);
    const std::uint32_t before = mine.contexts.load(std::memory_order_relaxed);
    std::uint32_t after = before;
    if (change_by > 0)
        after = before + 1;
    else if (before != 0)
        after = before - 1;
    mine.contexts.store(after, std::memory_order_relaxed);
    mine.changes.store(mine.changes.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    if (before != 0 && after == 0)
        change(place, value(mine.overhead_bytes), false, Part::kOverhead);
}

void Ledger::note_denied(unsigned place, std::uint64_t bytes) {
    ledger_->devices[place].denied.fetch_add(1, std::memory_order_relaxed);
    ledger_->devices[place].denied_bytes.fetch_add(bytes, std::memory_order_relaxed);
}

void Ledger::remark(unsigned place, abi::Remark remark) {
    std::atomic<std::uint32_t>& remarks = ledger_->devices[place].remarks;
    if ((remarks.load(std::memory_order_relaxed) & remark) == 0)
        remarks.fetch_or(remark, std::memory_order_relaxed);
}

// ---- what the driver says ---------------------------------------------------------------------

bool Ledger::is_measured() const {
    if (config_ == nullptr) return false;
    constexpr std::uint64_t kFresh = 5'000'000'000;
    const std::uint64_t beat = value(config_->heartbeat_ns);
    const std::uint64_t now = kernel::now_ns();
    return beat != 0 && (now < beat || now - beat < kFresh);
}

void Ledger::expect_truth() {
    if (config_ == nullptr) return;
    // A look that is under way now may not have seen the change and still be published: one more.
    ledger_->slots[slot_].truth_from.store(value(config_->truth_changes) + 2,
                                           std::memory_order_relaxed);
}

void Ledger::take_truth() {
    if (config_ == nullptr || !joined()) return;
    if (value(config_->truth_changes) == truth_seen_.load(std::memory_order_relaxed)) return;
    const Locked locked(*this);
    merge_truth();
}

/// Under the lock.
void Ledger::merge_truth() {
    const std::uint64_t changes = config_->truth_changes.load(std::memory_order_acquire);
    truth_seen_.store(changes, std::memory_order_relaxed);
    for (unsigned i = 0; i < ledger_->slots_high.load() && i < abi::kRegionSlots; ++i) {
        abi::Slot& slot = ledger_->slots[i];
        const abi::ProcessTruth& truth = config_->truth[i];
        const std::uint64_t owner = value(slot.owner);
        if (owner == 0 || truth.owner.load(std::memory_order_acquire) != owner ||
            changes < value(slot.truth_from))
            continue;
        // Read once, and only then known to be of that owner: the agent takes the owner away first.
        std::uint64_t overhead[abi::kRegionDevices];
        for (unsigned c = 0; c < abi::kRegionDevices; ++c)
            overhead[c] = truth.overhead_bytes[c].load(std::memory_order_acquire);
        if (truth.owner.load(std::memory_order_relaxed) != owner) continue;
        for (unsigned d = 0; d < abi::kRegionDevices; ++d) {
            if (none(ledger_->devices[d].uuid)) break;
            unsigned place = kNone;
            for (unsigned c = 0; c < abi::kRegionDevices; ++c)
                if (same(config_->devices[c].uuid, ledger_->devices[d].uuid)) place = c;
            if (place == kNone || overhead[place] == abi::kNotMeasured) continue;
            set(slot.devices[d].overhead_bytes, overhead[place]);
        }
    }
    recount();
    for (unsigned d = 0; d < abi::kRegionDevices; ++d) {
        if ((devices_known_.load(std::memory_order_acquire) & 1U << d) == 0) continue;
        const std::uint64_t limit = devices_[d].memory_limit();
        if (limit != 0 && used(d) > limit) remark(d, abi::kRemarkOverLimit);
    }
}

bool Ledger::process(int pid, unsigned place, int& own_pid, std::uint64_t& bytes) const {
    for (unsigned i = 0; i < ledger_->slots_high.load() && i < abi::kRegionSlots; ++i) {
        const abi::Slot& slot = ledger_->slots[i];
        const std::uint64_t owner = value(slot.owner);
        if (owner == 0) continue;
        const int inside = static_cast<int>(owner >> 32);
        const bool known = config_ != nullptr && value(config_->truth[i].owner) == owner;
        const int outside = known ? config_->truth[i].host_pid.load(std::memory_order_relaxed) : 0;
        if (inside != pid && (outside == 0 || outside != pid)) continue;
        own_pid = inside;
        bytes =
            value(slot.devices[place].tracked_bytes) + value(slot.devices[place].overhead_bytes);
        return true;
    }
    return false;
}

}  // namespace aliquot::guard
