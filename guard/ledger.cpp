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
            if (words_of(limits.uuid) == words_of(uuid)) return &limits;
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
        if (words_in(ledger_->devices[i]) == words_of(uuid)) return i;
    return kNone;
}

/// Under the lock: a place whose device the container does not have and nobody uses; kNone: there is
/// none. Only a config tells which devices there are.
unsigned Ledger::foreign_place() const {
    if (config_ == nullptr) return kNone;
    for (unsigned i = 0; i < abi::kRegionDevices; ++i) {
        bool ours = knows(i);
        const UuidWords uuid = words_in(ledger_->devices[i]);
        for (const abi::DeviceLimits& limits : config_->devices)
            ours = ours || words_of(limits.uuid) == uuid;
        for (unsigned s = 0; s < high(); ++s) {
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
    const UuidWords wanted = words_of(uuid);
    unsigned place = find(uuid);
    while (place == kNone) {
        unsigned room = kNone;
        // One that a process was stopped or killed at has the first half.
        for (unsigned i = 0; i < abi::kRegionDevices && room == kNone; ++i)
            if (words_in(ledger_->devices[i]) == UuidWords{{wanted.half[0], 0}}) room = i;
        if (room == kNone) room = find(abi::DeviceUuid{});
        if (room == kNone) room = foreign_place();
        if (room == kNone) return kNone;
        // Without the lock by now somebody else may be at it too: whoever wins, another look.
        replace(ledger_->devices[room], words_in(ledger_->devices[room]), wanted);
        place = find(uuid);
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

bool Ledger::change(std::uint16_t generation, unsigned place, std::uint64_t bytes, bool add,
                    Part part) {
    abi::SlotDevice& mine = own(place);
    abi::DeviceLedger& totals = ledger_->devices[place];
    abi::Fenced& figure = part == Part::kOverhead ? mine.overhead_bytes : mine.tracked_bytes;
    const std::uint64_t before = value(figure);
    const std::uint64_t sum = value(totals.used_bytes);
    if (!add && bytes > before) bytes = before;
    // This one store is the change. Should the lock be lost before it, nothing has happened; should it
    // be lost after it, whoever takes it makes the sums anew.
    if (!put(figure, generation, add ? before + bytes : before - bytes)) return false;
    if (part == Part::kManaged)
        alter(mine.managed_bytes,
              [=](std::uint64_t managed) { return add ? managed + bytes : less(managed, bytes); });
    const std::uint64_t used = add ? sum + bytes : less(sum, bytes);
    if (put(totals.used_bytes, generation, used)) raise_to(totals.peak_bytes, used);
    mine.changes.store(mine.changes.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    return true;
}

bool Ledger::grow(unsigned place, std::uint64_t bytes, Part part) {
    take_truth();
    const Device& device = devices_[place];
    const std::uint64_t limit = device.memory_limit();
    for (;;) {
        const Locked locked(*this);
        if (limit != 0) {
            const std::uint64_t used = value(ledger_->devices[place].used_bytes);
            if (used > limit || bytes > limit - used) return false;
        }
        if (change(locked.generation, place, bytes, true, part)) return true;
    }
}

void Ledger::force(unsigned place, std::uint64_t bytes, Part part) {
    for (bool done = false; !done;) {
        const Locked locked(*this);
        done = change(locked.generation, place, bytes, true, part);
    }
}

void Ledger::shrink(unsigned place, std::uint64_t bytes, Part part) {
    for (bool done = false; !done;) {
        const Locked locked(*this);
        done = change(locked.generation, place, bytes, false, part);
    }
}

void Ledger::set_overhead(unsigned place, std::uint64_t bytes) {
    for (bool done = false; !done;) {
        const Locked locked(*this);
        const std::uint64_t before = value(own(place).overhead_bytes);
        done = bytes > before
                   ? change(locked.generation, place, bytes - before, true, Part::kOverhead)
                   : change(locked.generation, place, before - bytes, false, Part::kOverhead);
    }
}

void Ledger::count_context(unsigned place, int change_by) {
    abi::SlotDevice& mine = own(place);
    mine.changes.fetch_add(1, std::memory_order_relaxed);
    std::uint32_t before = mine.contexts.load(std::memory_order_relaxed);
    std::uint32_t after = 0;
    do after = change_by > 0 ? before + 1 : before - (before != 0 ? 1 : 0);
    while (!mine.contexts.compare_exchange_weak(before, after));
    if (before == 0 || after != 0) return;
    for (bool done = false; !done;) {
        const Locked locked(*this);
        // Another thread may have made one by now.
        done = mine.contexts.load() != 0 ||
               change(locked.generation, place, value(mine.overhead_bytes), false, Part::kOverhead);
    }
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
    for (bool done = false; !done;) {
        const Locked locked(*this);
        done = merge_truth(locked.generation);
    }
}

bool Ledger::merge_truth(std::uint16_t generation) {
    const std::uint64_t changes = config_->truth_changes.load(std::memory_order_acquire);
    truth_seen_.store(changes, std::memory_order_relaxed);
    const unsigned end = high();
    for (unsigned i = 0; i < end; ++i) {
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
            const UuidWords uuid = words_in(ledger_->devices[d]);
            if (uuid == UuidWords{}) break;
            unsigned place = kNone;
            for (unsigned c = 0; c < abi::kRegionDevices; ++c)
                if (words_of(config_->devices[c].uuid) == uuid) place = c;
            if (place == kNone || overhead[place] == abi::kNotMeasured) continue;
            if (!put(slot.devices[d].overhead_bytes, generation, overhead[place])) return false;
        }
    }
    if (!recount(generation)) return false;
    for (unsigned d = 0; d < abi::kRegionDevices; ++d) {
        if ((devices_known_.load(std::memory_order_acquire) & 1U << d) == 0) continue;
        const std::uint64_t limit = devices_[d].memory_limit();
        if (limit != 0 && used(d) > limit) remark(d, abi::kRemarkOverLimit);
    }
    return true;
}

bool Ledger::process(int pid, unsigned place, int& own_pid, std::uint64_t& bytes) const {
    for (unsigned i = 0; i < high(); ++i) {
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
