// SPDX-License-Identifier: Apache-2.0
#include "guard/arbiter.h"

#include <cstring>

#include "guard/kernel.h"
#include "guard/node_page.h"

namespace aliquot::guard {
namespace {

constexpr std::uint64_t kQuantum = 8'000'000;
/// How far behind the others a container that comes back may be: it gets that much at once.
constexpr std::uint64_t kCredit = 24'000'000;
/// A holder with nothing to do keeps its turn that long: it may be about to launch again.
constexpr std::uint64_t kRest = 200'000;
/// Whoever is that far behind a holder at rest gets the turn at once; with less, each wait of a program
/// that waits for every launch would cost a change of turns.
constexpr std::uint64_t kEager = 2'000'000;
/// A holder that does not pass the turn on is passed over after that long.
constexpr std::uint64_t kOverdue = 20'000'000;
constexpr std::uint64_t kLook = 1'000'000;
constexpr std::uint64_t kRecent = 2'000'000'000;
/// A process that waits says so each kLook; one that was killed does not.
constexpr std::uint64_t kStillWaiting = 50'000'000;
constexpr std::uint64_t kScale = 1000;  // virtual time is time x kScale / weight

template <class T>
T value(const std::atomic<T>& figure) {
    return figure.load(std::memory_order_relaxed);
}
template <class T, class V>
void set(std::atomic<T>& figure, V to) {
    figure.store(static_cast<T>(to), std::memory_order_relaxed);
}

bool same(const abi::DeviceUuid& a, const abi::DeviceUuid& b) {
    return std::memcmp(a.bytes, b.bytes, sizeof a.bytes) == 0;
}

std::int64_t by_weight(std::uint64_t ns, const abi::Tenant& tenant) {
    // Read once: a neighbour may write the page while we look.
    const std::uint64_t weight = value(tenant.weight);
    return static_cast<std::int64_t>(ns * kScale / (weight == 0 ? 1 : weight));
}

bool waits(const abi::Tenant& tenant, std::uint64_t now) {
    const std::uint64_t last = value(tenant.last_ns);
    return value(tenant.region) != 0 && value(tenant.waiting) != 0 &&
           (last > now || now - last < kStillWaiting);
}

abi::Arbiter* find_device(abi::NodePage& page, const abi::DeviceUuid& uuid) {
    for (abi::Arbiter& arbiter : page.devices) {
        if (same(arbiter.uuid, uuid)) return &arbiter;
        if (!same(arbiter.uuid, abi::DeviceUuid{})) continue;
        arbiter.uuid = uuid;
        return &arbiter;
    }
    return nullptr;
}

}  // namespace

bool Turns::lock() { return lock_page(arbiter_->lock, process_); }
void Turns::unlock() { unlock_page(arbiter_->lock, process_); }

bool Turns::is_alive(std::uint64_t region) const { return is_region_alive(*page_, region); }

bool Turns::join(const char* path, const abi::DeviceUuid& uuid, std::uint64_t region,
                 std::uint32_t weight) {
    page_ = open_node_page(path, region, process_);
    if (page_ == nullptr || !lock_page(page_->lock, process_)) return false;
    abi::Arbiter* arbiter = find_device(*page_, uuid);
    unlock_page(page_->lock, process_);
    if (arbiter == nullptr) return false;
    arbiter_ = arbiter;
    if (!lock()) {
        arbiter_ = nullptr;
        return false;
    }
    unsigned place = abi::kNodeTenants;
    for (unsigned i = 0; i < abi::kNodeTenants; ++i) {
        const std::uint64_t there = value(arbiter_->tenants[i].region);
        if (there == region) {
            place = i;
            break;
        }
        if (place == abi::kNodeTenants && (there == 0 || !is_alive(there))) place = i;
    }
    const bool found = place != abi::kNodeTenants;
    if (found && value(arbiter_->tenants[place].region) != region) {
        abi::Tenant& tenant = arbiter_->tenants[place];
        if (value(arbiter_->holder) == place + 1) set(arbiter_->holder, 0);
        set(tenant.waiting, 0);
        set(tenant.virtual_ns, 0);
        set(tenant.held_ns, 0);
        set(tenant.last_ns, 0);
        tenant.region.store(region);
    }
    if (found) {
        tenant_ = place;
        set(arbiter_->tenants[place].weight, weight);
        arbiter_->turn.fetch_add(1);  // whoever was alone is not any more
    }
    unlock();
    if (!found) arbiter_ = nullptr;
    return found;
}

void Turns::set_weight(std::uint32_t weight) {
    if (value(arbiter_->tenants[tenant_].weight) != weight)
        set(arbiter_->tenants[tenant_].weight, weight);
}

bool Turns::has_others(std::uint64_t now) const {
    for (unsigned i = 0; i < abi::kNodeTenants; ++i) {
        if (i == tenant_ || value(arbiter_->tenants[i].region) == 0) continue;
        const std::uint64_t last = value(arbiter_->tenants[i].last_ns);
        if (last != 0 && (last > now || now - last < kRecent)) return true;
    }
    return false;
}

bool Turns::is_mine() const { return value(arbiter_->holder) == tenant_ + 1; }

bool Turns::is_wanted() const {
    if (value(arbiter_->waiting) == 0) return false;
    const std::uint64_t now = kernel::now_ns();
    for (unsigned i = 0; i < abi::kNodeTenants; ++i)
        if (i != tenant_ && waits(arbiter_->tenants[i], now)) return true;
    return false;
}

bool Turns::is_over(std::uint64_t now) const {
    const std::uint64_t since = value(arbiter_->since_ns);
    if (now < since + kQuantum) {
        // Before its time, if the next one is that far behind.
        const unsigned other = next();
        return other != abi::kNodeTenants && other != tenant_ &&
               value(arbiter_->tenants[other].virtual_ns) +
                       by_weight(kQuantum / 2, arbiter_->tenants[other]) <
                   value(arbiter_->tenants[tenant_].virtual_ns) +
                       by_weight(now > since ? now - since : 0, arbiter_->tenants[tenant_]);
    }
    return true;
}

/// The waiting container that is furthest behind; kNodeTenants: nobody waits.
unsigned Turns::next() const {
    unsigned best = abi::kNodeTenants;
    const std::uint64_t now = kernel::now_ns();
    for (unsigned i = 0; i < abi::kNodeTenants; ++i) {
        const abi::Tenant& tenant = arbiter_->tenants[i];
        if (!waits(tenant, now)) continue;
        if (best == abi::kNodeTenants ||
            value(tenant.virtual_ns) < value(arbiter_->tenants[best].virtual_ns))
            best = i;
    }
    return best;
}

/// Under the lock: books what the holder has had since the turn began.
void Turns::charge_holder(std::uint64_t now) {
    const std::uint32_t holder = value(arbiter_->holder);
    const std::uint64_t since = value(arbiter_->since_ns);
    if (holder == 0 || holder > abi::kNodeTenants || now <= since) return;
    const std::uint64_t idle = value(arbiter_->idle_ns);
    const std::uint64_t end = idle > since && idle < now ? idle : now;
    abi::Tenant& tenant = arbiter_->tenants[holder - 1];
    set(tenant.virtual_ns, value(tenant.virtual_ns) + by_weight(end - since, tenant));
    set(tenant.held_ns, value(tenant.held_ns) + (end - since));
    set(arbiter_->since_ns, now);
}

/// Under the lock.
void Turns::give_to(unsigned tenant, std::uint64_t now) {
    set(arbiter_->holder, tenant + 1);
    set(arbiter_->since_ns, now);
    set(arbiter_->idle_ns, 0);
    set(arbiter_->busy_until_ns, 0);
    arbiter_->turn.fetch_add(1);
}

/// Whether `tenant` has had that much less than the holder, with what the holder has had of this turn.
bool Turns::is_well_behind(unsigned tenant, unsigned holder, std::uint64_t now) const {
    const abi::Tenant& one = arbiter_->tenants[tenant];
    const abi::Tenant& other = arbiter_->tenants[holder];
    const std::uint64_t since = value(arbiter_->since_ns);
    return value(one.virtual_ns) + by_weight(kEager, one) <
           value(other.virtual_ns) + by_weight(now > since ? now - since : 0, other);
}

/// Under the lock: whether the turn of whoever has it can be taken from it.
bool Turns::may_be_taken(std::uint64_t now) const {
    const std::uint32_t holder = value(arbiter_->holder);
    if (holder == 0 || holder > abi::kNodeTenants) return true;
    const abi::Tenant& tenant = arbiter_->tenants[holder - 1];
    const std::uint64_t idle = value(arbiter_->idle_ns);
    if (idle != 0) {
        // At rest: at once for whoever is well behind it, else after a moment.
        return is_well_behind(tenant_, holder - 1, idle) || now > idle + kRest;
    }
    const std::uint64_t since = value(arbiter_->since_ns);
    const std::uint64_t busy = value(arbiter_->busy_until_ns);
    const std::uint64_t due = since + kQuantum;
    if (now > (due > busy ? due : busy) + kOverdue) return true;
    return now > since + kQuantum / 2 && !is_alive(value(tenant.region));
}

/// Under the lock, for a container that begins to wait: time in which it wanted nothing is not
/// saved up, and time in which the holder was alone is not held against it.
void Turns::enter_late() {
    const std::uint64_t now = kernel::now_ns();
    if (value(arbiter_->waiting) == 0) {
        const std::uint64_t since = value(arbiter_->since_ns);
        if (now > since + kQuantum) set(arbiter_->since_ns, now);
    }
    abi::Tenant& me = arbiter_->tenants[tenant_];
    std::int64_t least = 0;
    bool any = false;
    for (unsigned i = 0; i < abi::kNodeTenants; ++i) {
        const abi::Tenant& tenant = arbiter_->tenants[i];
        if (i == tenant_ || (!waits(tenant, now) && value(arbiter_->holder) != i + 1)) continue;
        if (!any || value(tenant.virtual_ns) < least) least = value(tenant.virtual_ns);
        any = true;
    }
    const std::int64_t floor = least - by_weight(kCredit, me);
    if (any && value(me.virtual_ns) < floor) set(me.virtual_ns, floor);
}

bool Turns::take(std::uint64_t longest_ns) {
    abi::Tenant& me = arbiter_->tenants[tenant_];
    const std::uint64_t began = kernel::now_ns();
    set(me.last_ns, began);
    if (!lock()) return false;
    if (is_mine()) {
        unlock();
        return true;
    }
    if (value(me.waiting) == 0) enter_late();
    set(me.waiting, value(me.waiting) + 1);
    if (value(me.waiting) == 1) set(arbiter_->waiting, value(arbiter_->waiting) + 1);
    arbiter_->turn.fetch_add(1);  // the holder is to know
    bool mine = false;
    for (std::uint64_t now = began;;) {
        if (!is_mine() && may_be_taken(now)) {
            charge_holder(now);
            give_to(tenant_, now);
        }
        mine = is_mine();
        if (mine || now - began > longest_ns) break;
        const std::uint32_t seen = arbiter_->turn.load();
        unlock();
        kernel::wait(arbiter_->turn, seen, value(arbiter_->idle_ns) != 0 ? kRest : kLook, true);
        now = kernel::now_ns();
        set(me.last_ns, now);
        if (!lock()) {
            // Not counted out: the next one who is alone here will see that nobody waits.
            return false;
        }
    }
    if (value(me.waiting) != 0) set(me.waiting, value(me.waiting) - 1);
    if (value(me.waiting) == 0 && value(arbiter_->waiting) != 0)
        set(arbiter_->waiting, value(arbiter_->waiting) - 1);
    unlock();
    return mine;
}

void Turns::pass_on() {
    if (!lock()) return;
    const std::uint64_t now = kernel::now_ns();
    if (is_mine()) {
        charge_holder(now);
        const unsigned other = next();
        const abi::Tenant& me = arbiter_->tenants[tenant_];
        if (other != abi::kNodeTenants && other != tenant_ &&
            value(arbiter_->tenants[other].virtual_ns) < value(me.virtual_ns))
            give_to(other, now);
    }
    unlock();
    kernel::wake(arbiter_->turn, 1 << 30, true);
}

void Turns::rest() {
    if (!is_mine() || value(arbiter_->idle_ns) != 0) return;
    const std::uint64_t now = kernel::now_ns();
    set(arbiter_->idle_ns, now);
    if (value(arbiter_->waiting) == 0) return;
    // Others look by themselves after a while.
    const unsigned other = next();
    if (other == abi::kNodeTenants || !is_well_behind(other, tenant_, now)) return;
    arbiter_->turn.fetch_add(1);
    kernel::wake(arbiter_->turn, 1 << 30, true);
}

void Turns::resume() {
    set(arbiter_->tenants[tenant_].last_ns, kernel::now_ns());
    if (value(arbiter_->idle_ns) == 0 || !lock()) return;
    if (is_mine() && value(arbiter_->idle_ns) != 0) {
        // Not for the time at rest.
        charge_holder(kernel::now_ns());
        set(arbiter_->since_ns, kernel::now_ns());
        set(arbiter_->idle_ns, 0);
    }
    unlock();
}

void Turns::expect(std::uint64_t busy_until_ns) { set(arbiter_->busy_until_ns, busy_until_ns); }

void Turns::forget() {
    page_ = nullptr;
    arbiter_ = nullptr;
}

}  // namespace aliquot::guard
