// SPDX-License-Identifier: Apache-2.0
// The ledger's lock, who of those that hold or have held something lives, and the sums.
#include <cerrno>

#include "guard/figures.h"
#include "guard/kernel.h"
#include "guard/ledger.h"

namespace aliquot::guard {
namespace {

constexpr std::uint64_t kLook = 2'000'000;  // between looks whether it does

}  // namespace

unsigned Ledger::high() const {
    const std::uint64_t high = ledger_->slots_high.load(std::memory_order_acquire);
    return high < abi::kRegionSlots ? static_cast<unsigned>(high) : abi::kRegionSlots;
}

std::uint16_t Ledger::lock() {
    const std::uint32_t self = slot_ + 1;
    std::atomic<std::uint32_t>& lock = ledger_->lock;
    std::uint32_t word = lock.load(std::memory_order_relaxed);
    for (unsigned spin = 0; spin < 200; ++spin) {
        if ((word & abi::kLockHolder) == 0 &&
            lock.compare_exchange_weak(word, word | self, std::memory_order_acquire))
            return lock_generation(word);
#if defined(__x86_64__)
        __builtin_ia32_pause();
#endif
        word = lock.load(std::memory_order_relaxed);
    }
    const std::uint64_t since = kernel::now_ns();
    std::uint64_t looked = since;
    std::uint32_t holder = 0;
    int file = -1;
    for (;;) {
        word = lock.load(std::memory_order_relaxed);
        if ((word & abi::kLockHolder) == 0) {
            if (lock.compare_exchange_strong(word, word | self | abi::kLockWaiters,
                                             std::memory_order_acquire))
                break;
            continue;
        }
        if ((word & abi::kLockWaiters) == 0 &&
            !lock.compare_exchange_strong(word, word | abi::kLockWaiters))
            continue;
        word |= abi::kLockWaiters;
        kernel::wait(lock, word, kLook, true);
        const std::uint64_t now = kernel::now_ns();
        const std::uint32_t seen = lock.load(std::memory_order_relaxed);
        if (seen != word || now - looked < kLook) continue;
        const bool still = seen == holder;
        holder = seen;
        looked = now;
        const unsigned index = (seen & abi::kLockHolder) - 1;
        if (file < 0) file = probe();
        const bool dead = index != slot_ && (index >= abi::kRegionSlots || !is_alive(index, file));
        if (!dead && !(still && now - since > patience_ns_)) continue;
        const auto next = static_cast<Generation>(lock_generation(word) + 1);
        if (!lock.compare_exchange_strong(
                word, std::uint32_t{next} << abi::kLockShift | self | abi::kLockWaiters))
            continue;
        ledger_->recoveries.fetch_add(1);
        word = std::uint32_t{next} << abi::kLockShift;
        if (fence_off_others(next) && recount(next)) break;
        // We were stopped ourselves, and somebody has taken it from us.
    }
    if (file >= 0) kernel::close(file);
    return lock_generation(word);
}

/// From here on nothing comes through of what earlier holders have not done yet; what they have done
/// is in the figures.
bool Ledger::fence_off_others(std::uint16_t generation) {
    // First how many there are: a slot beyond is written by nobody but the process that has it.
    if (!fence_off(ledger_->slots_high, generation)) return false;
    const unsigned end = high();
    for (unsigned i = 0; i < end; ++i)
        for (abi::SlotDevice& device : ledger_->slots[i].devices)
            if (!fence_off(device.tracked_bytes, generation) ||
                !fence_off(device.managed_bytes, generation) ||
                !fence_off(device.overhead_bytes, generation))
                return false;
    for (abi::DeviceLedger& totals : ledger_->devices)
        if (!fence_off(totals.used_bytes, generation)) return false;
    return true;
}

void Ledger::unlock(std::uint16_t generation) {
    const std::uint32_t free = std::uint32_t{generation} << abi::kLockShift;
    std::uint32_t word = free | (slot_ + 1);
    if (ledger_->lock.compare_exchange_strong(word, free, std::memory_order_release)) return;
    // Not ours any more: somebody lost patience with us while we were stopped.
    if ((word & ~abi::kLockWaiters) != (free | (slot_ + 1))) return;
    if (ledger_->lock.compare_exchange_strong(word, free, std::memory_order_release))
        kernel::wake(ledger_->lock, 1, true);
}

/// Whoever had this slot before us may have died inside the lock.
void Ledger::free_of(unsigned index) {
    std::uint32_t word = ledger_->lock.load();
    if ((word & abi::kLockHolder) != index + 1) return;
    const auto next = static_cast<Generation>(lock_generation(word) + 1);
    // Taken in the meantime by somebody who found that out too: then it is theirs.
    if (!ledger_->lock.compare_exchange_strong(word, std::uint32_t{next} << abi::kLockShift))
        return;
    ledger_->recoveries.fetch_add(1);
    kernel::wake(ledger_->lock, 1, true);
}

/// A descriptor to ask who lives; below 0: to be known by pids. The agent is asked for one only where
/// pids do not tell: it has more to do than to answer every process of every container.
int Ledger::probe() const {
    if (!is_handed_) return reopen();
    const unsigned end = high();
    for (unsigned i = 0; i < end; ++i) {
        const abi::Slot& slot = ledger_->slots[i];
        if (value(slot.owner) != 0 && slot.pid_namespace != own_pid_namespace_) return reopen();
    }
    return own_pid_namespace_ != 0 ? -1 : reopen();
}

bool Ledger::is_alive(unsigned index, int descriptor) const {
    const abi::Slot& slot = ledger_->slots[index];
    const bool ours =
        private_ || (own_pid_namespace_ != 0 && slot.pid_namespace == own_pid_namespace_);
    if (!private_ && descriptor >= 0 && !goes_by_pid(slot))
        return kernel::byte_is_locked(descriptor, abi::kSlotLockOffset + index);
    // Without a free descriptor, by its pid, as far as that means the same to both.
    return !ours || lives_by_pid(slot);
}

bool Ledger::goes_by_pid(const abi::Slot& slot) const {
    // With our pid it may be what this process was before its last exec.
    return !locks_last_ && own_pid_namespace_ != 0 && slot.pid_namespace == own_pid_namespace_ &&
           static_cast<int>(value(slot.owner) >> 32) != kernel::own_pid();
}

bool Ledger::lives_by_pid(const abi::Slot& slot) const {
    const int pid = static_cast<int>(value(slot.owner) >> 32);
    if (pid == 0) return true;  // it is about to join
    if (kernel::call(SYS_kill, pid, 0) == -ESRCH) return false;
    const ProcessStat stat = stat_of(pid);
    if (stat.has_ended) return false;
    return stat.start_time == 0 || slot.start_time == 0 || stat.start_time == slot.start_time;
}

bool Ledger::clear_slot(std::uint16_t generation, unsigned index) {
    for (abi::SlotDevice& device : ledger_->slots[index].devices)
        if (!put(device.tracked_bytes, generation, 0) ||
            !put(device.managed_bytes, generation, 0) || !put(device.overhead_bytes, generation, 0))
            return false;
    return true;
}

bool Ledger::recount(std::uint16_t generation) {
    std::uint64_t used[abi::kRegionDevices] = {};
    const unsigned end = high();
    for (unsigned i = 0; i < end; ++i) {
        const abi::Slot& slot = ledger_->slots[i];
        if (value(slot.owner) == 0) continue;
        for (unsigned d = 0; d < abi::kRegionDevices; ++d)
            used[d] += value(slot.devices[d].tracked_bytes) + value(slot.devices[d].overhead_bytes);
    }
    for (unsigned d = 0; d < abi::kRegionDevices; ++d) {
        abi::DeviceLedger& totals = ledger_->devices[d];
        if (!put(totals.used_bytes, generation, used[d])) return false;
        raise_to(totals.peak_bytes, used[d]);
    }
    return true;
}

bool Ledger::reap_with(std::uint16_t generation, int descriptor) {
    bool found = false;
    const unsigned end = high();
    for (unsigned i = 0; i < end; ++i) {
        abi::Slot& slot = ledger_->slots[i];
        std::uint64_t owner = value(slot.owner);
        if (i == slot_ || owner == 0 || is_alive(i, descriptor)) continue;
        if (!clear_slot(generation, i)) return false;
        // The next one may have it by now.
        slot.owner.compare_exchange_strong(owner, 0);
        found = true;
    }
    if (found && !recount(generation)) return false;
    unsigned still = end;
    while (still > 1 && value(ledger_->slots[still - 1].owner) == 0) --still;
    return put(ledger_->slots_high, generation, still);
}

void Ledger::reap() {
    const int file = probe();
    for (bool done = false; !done;) {
        const Locked locked(*this);
        done = reap_with(locked.generation, file);
    }
    if (file >= 0) kernel::close(file);
}

void Ledger::reap_sometimes() {
    if (high() <= 1) return;
    const std::uint64_t now = kernel::ticks();
    if (now - reaped_ticks_.load(std::memory_order_relaxed) < kernel::tenth_of_ticks()) return;
    reaped_ticks_.store(now, std::memory_order_relaxed);
    reap();
}

std::uint64_t Ledger::used_by_the_living(unsigned place) const {
    const int file = probe();
    std::uint64_t used = 0;
    for (unsigned i = 0; i < high(); ++i) {
        const abi::Slot& slot = ledger_->slots[i];
        if (value(slot.owner) != 0 && is_alive(i, file))
            used += value(slot.devices[place].tracked_bytes) +
                    value(slot.devices[place].overhead_bytes);
    }
    if (file >= 0) kernel::close(file);
    return used;
}

}  // namespace aliquot::guard
