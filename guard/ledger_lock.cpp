// SPDX-License-Identifier: Apache-2.0
// The ledger's lock, who of those that hold or have held something lives, and the sums.
#include <cerrno>

#include "guard/figures.h"
#include "guard/kernel.h"
#include "guard/ledger.h"

namespace aliquot::guard {
namespace {

constexpr std::uint64_t kPatience = 1'000'000'000;  // for a lock whose holder lives
constexpr std::uint64_t kLook = 2'000'000;          // between looks whether it does

}  // namespace

void Ledger::lock() {
    const std::uint32_t self = slot_ + 1;
    std::uint32_t word = 0;
    if (ledger_->lock.compare_exchange_strong(word, self, std::memory_order_acquire)) return;
    for (unsigned spin = 0; spin < 200; ++spin) {
        word = 0;
        if (ledger_->lock.compare_exchange_weak(word, self, std::memory_order_acquire)) return;
#if defined(__x86_64__)
        __builtin_ia32_pause();
#endif
    }
    const std::uint64_t since = kernel::now_ns();
    std::uint64_t looked = since;
    std::uint32_t holder = 0;
    int file = -1;
    for (;;) {
        word = ledger_->lock.load(std::memory_order_relaxed);
        if (word == 0) {
            if (ledger_->lock.compare_exchange_strong(word, self | abi::kLockWaiters,
                                                      std::memory_order_acquire))
                break;
            continue;
        }
        if ((word & abi::kLockWaiters) == 0 &&
            !ledger_->lock.compare_exchange_strong(word, word | abi::kLockWaiters))
            continue;
        word |= abi::kLockWaiters;
        kernel::wait(ledger_->lock, word, kLook, true);
        const std::uint64_t now = kernel::now_ns();
        const std::uint32_t seen = ledger_->lock.load(std::memory_order_relaxed);
        if (seen != word || now - looked < kLook) continue;
        const bool still = seen == holder;
        holder = seen;
        looked = now;
        const unsigned index = (seen & ~abi::kLockWaiters) - 1;
        if (file < 0) file = reopen();
        const bool dead = index != slot_ && (index >= abi::kRegionSlots || !is_alive(index, file));
        if (!dead && !(still && now - since > kPatience)) continue;
        if (!ledger_->lock.compare_exchange_strong(word, self | abi::kLockWaiters)) continue;
        ledger_->recoveries.fetch_add(1);
        recount();
        break;
    }
    if (file >= 0) kernel::close(file);
}

void Ledger::unlock() {
    const std::uint32_t self = slot_ + 1;
    std::uint32_t word = self;
    if (ledger_->lock.compare_exchange_strong(word, 0, std::memory_order_release)) return;
    // Not ours any more: somebody lost patience with us while we were stopped.
    if ((word & ~abi::kLockWaiters) != self) return;
    if (ledger_->lock.compare_exchange_strong(word, 0, std::memory_order_release))
        kernel::wake(ledger_->lock, 1, true);
}

bool Ledger::is_alive(unsigned index, int descriptor) const {
    const abi::Slot& slot = ledger_->slots[index];
    const bool ours =
        private_ || (own_pid_namespace_ != 0 && slot.pid_namespace == own_pid_namespace_);
    if (!private_ && descriptor >= 0)
        return kernel::byte_is_locked(descriptor, abi::kSlotLockOffset + index);
    // Without a free descriptor, by its pid, as far as that means the same to both.
    if (!ours) return true;
    const int pid = static_cast<int>(value(slot.owner) >> 32);
    if (pid == 0) return true;  // it is about to join
    if (kernel::call(SYS_kill, pid, 0) == -ESRCH) return false;
    const std::uint64_t start = start_time_of(pid);
    return start == 0 || slot.start_time == 0 || start == slot.start_time;
}

void Ledger::clear_slot(unsigned index) {
    for (abi::SlotDevice& device : ledger_->slots[index].devices) {
        set(device.tracked_bytes, 0);
        set(device.managed_bytes, 0);
        set(device.overhead_bytes, 0);
        device.contexts.store(0, std::memory_order_relaxed);
    }
    ledger_->slots[index].truth_from.store(0, std::memory_order_relaxed);
}

void Ledger::recount() {
    std::uint64_t used[abi::kRegionDevices] = {};
    unsigned high = ledger_->slots_high.load();
    if (high > abi::kRegionSlots) high = abi::kRegionSlots;
    for (unsigned i = 0; i < high; ++i) {
        const abi::Slot& slot = ledger_->slots[i];
        if (value(slot.owner) == 0) continue;
        for (unsigned d = 0; d < abi::kRegionDevices; ++d)
            used[d] += value(slot.devices[d].tracked_bytes) + value(slot.devices[d].overhead_bytes);
    }
    for (unsigned d = 0; d < abi::kRegionDevices; ++d) {
        abi::DeviceLedger& totals = ledger_->devices[d];
        set(totals.used_bytes, used[d]);
        if (value(totals.peak_bytes) < used[d]) set(totals.peak_bytes, used[d]);
    }
}

void Ledger::reap() {
    const int file = reopen();
    {
        const Locked locked(*this);
        bool found = false;
        for (unsigned i = 0; i < ledger_->slots_high.load() && i < abi::kRegionSlots; ++i) {
            if (i == slot_ || value(ledger_->slots[i].owner) == 0 || is_alive(i, file)) continue;
            clear_slot(i);
            ledger_->slots[i].owner.store(0, std::memory_order_relaxed);
            found = true;
        }
        if (found) recount();
        unsigned high = ledger_->slots_high.load();
        while (high > 1 && high <= abi::kRegionSlots && value(ledger_->slots[high - 1].owner) == 0)
            --high;
        ledger_->slots_high.store(high);
    }
    if (file >= 0) kernel::close(file);
}

void Ledger::reap_sometimes() {
    if (ledger_->slots_high.load(std::memory_order_relaxed) <= 1) return;
    const std::uint64_t now = kernel::ticks();
    if (now - reaped_ticks_.load(std::memory_order_relaxed) < kernel::tenth_of_ticks()) return;
    reaped_ticks_.store(now, std::memory_order_relaxed);
    reap();
}

std::uint64_t Ledger::used_by_the_living(unsigned place) const {
    const int file = reopen();
    std::uint64_t used = 0;
    for (unsigned i = 0; i < ledger_->slots_high.load() && i < abi::kRegionSlots; ++i) {
        const abi::Slot& slot = ledger_->slots[i];
        if (value(slot.owner) != 0 && is_alive(i, file))
            used += value(slot.devices[place].tracked_bytes) +
                    value(slot.devices[place].overhead_bytes);
    }
    if (file >= 0) kernel::close(file);
    return used;
}

}  // namespace aliquot::guard
