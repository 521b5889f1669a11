// SPDX-License-Identifier: Apache-2.0
#include "turns/arbiter.h"

#include <algorithm>

#include "abi/turns.h"

namespace aliquot::turns {
namespace {

constexpr std::uint64_t kScale = 1000;  // virtual time is time x kScale / weight

std::int64_t by_weight(std::uint64_t ns, std::uint64_t weight) {
    return static_cast<std::int64_t>(ns * kScale / weight);
}

}  // namespace

unsigned Arbiter::add(std::uint32_t weight) {
    const auto free = std::ranges::find_if(tenants_, [](const Tenant& one) { return !one.used; });
    const auto place = static_cast<unsigned>(free - tenants_.begin());
    if (free == tenants_.end()) tenants_.emplace_back();
    tenants_[place] = Tenant{};
    tenants_[place].used = true;
    set_weight(place, weight);
    return place;
}

void Arbiter::remove(unsigned tenant) {
    if (holder_ == tenant) holder_ = kNobody;
    if (before_ == tenant) before_ = kNobody;
    tenants_[tenant] = Tenant{};
    next_ = find_next();
}

void Arbiter::set_weight(unsigned tenant, std::uint32_t weight) {
    tenants_[tenant].weight = weight == 0 ? 1 : weight;
}

void Arbiter::set_wake_time(std::uint64_t wake_ns) {
    constexpr std::uint64_t kBegin = 50'000;  // the rest of a hand-over, beside two wakes
    wake_ns_ = std::min(wake_ns, kMostLead / 2);
    lead_ns_ = std::clamp(2 * wake_ns_ + kBegin, kLeastLead, kMostLead);
}

bool Arbiter::is_empty() const {
    return std::ranges::none_of(tenants_, [](const Tenant& one) { return one.used; });
}

void Arbiter::see(unsigned tenant, const Wants& wants, std::uint64_t now) {
    Tenant& one = tenants_[tenant];
    const Wants before = one.wants;
    one.wants = wants;
    if (wants.asked != before.asked) one.asked_ns = now;
    const bool has_rested = wants.rests != before.rests;
    if (tenant == holder_) {
        // What was asked for before this turn has been answered by it.
        if (!is_back(one)) one.answered = wants.asked;
        if (wants.rests % 2 == 0)
            one.rests_ns = 0;
        else if (one.rests_ns == 0 || has_rested)
            one.rests_ns = now;
        one.active_ns = one.rests_ns != 0 ? one.rests_ns : now;
        return;
    }
    if (one.late_ns != 0 && (is_back(one) || has_rested)) settle_late(tenant, now);
    if (one.due_ns != 0 && now > one.due_ns)
        doubt(one, now);
    else if (one.due_ns != 0 && is_back(one))
        trust(one, now - one.given_ns);
    look_whether_it_waits(tenant, now);
}

void Arbiter::look_whether_it_waits(unsigned tenant, std::uint64_t now) {
    Tenant& one = tenants_[tenant];
    const bool waits = one.wants.asked != 0 && one.wants.asked != one.answered &&
                       now - one.asked_ns < kStillWaiting;
    if (waits && !one.waits) begin_to_wait(tenant, now);
    one.waits = waits;
    if (waits) one.active_ns = now;
}

/// Time in which it wanted nothing is saved up as far as others have had that, and a credit at most.
/// So whoever uses less than its share waits for no more than the holder's work in flight.
void Arbiter::begin_to_wait(unsigned tenant, std::uint64_t now) {
    const bool others_wait =
        std::ranges::any_of(tenants_, [](const Tenant& one) { return one.waits; });
    if (!others_wait && holder_ != kNobody && holder_ != tenant && now > since_ns_ + kQuantum) {
        // But for what it has been at rest.
        const std::uint64_t rests = tenants_[holder_].rests_ns;
        book(tenants_[holder_], since_ns_, rests != 0 && rests < now ? rests : now);
        since_ns_ = now;
    }
    raise_floor(now);
    Tenant& me = tenants_[tenant];
    const bool has_failed = me.failed_ns != 0 && now - me.failed_ns < kGrudge;
    const std::uint64_t credit = has_failed ? 0 : kCredit;
    me.virtual_ns = std::max(me.virtual_ns, floor_ns_ - by_weight(credit, me.weight));
}

/// The least that any container has had that has or wants the device; it never falls. Whoever has lost its
/// turn with work under way has the device as well, and is charged for it.
void Arbiter::raise_floor(std::uint64_t now) {
    bool any = false;
    std::int64_t least = 0;
    for (unsigned i = 0; i < tenants_.size(); ++i) {
        const Tenant& one = tenants_[i];
        const std::uint64_t late = one.late_ns == 0 ? 0 : now - std::min(now, one.late_ns);
        const bool is_late = one.late_ns != 0 && late < kMostLate;
        if (!one.waits && holder_ != i && !is_late) continue;
        const std::int64_t had = one.virtual_ns + by_weight(std::min(late, kMostLate), one.weight);
        if (!any || had < least) least = had;
        any = true;
    }
    if (any) floor_ns_ = std::max(floor_ns_, least);
    constexpr std::int64_t kFar = std::int64_t{1} << 60U;
    if (floor_ns_ < kFar) return;
    for (Tenant& one : tenants_) one.virtual_ns -= std::min(one.virtual_ns, kFar);
    floor_ns_ -= kFar;
}

void Arbiter::book(Tenant& one, std::uint64_t from, std::uint64_t now) {
    const std::uint64_t had = now > from ? now - from : 0;
    one.virtual_ns += by_weight(had, one.weight);
}

/// Its kernels went on after it had lost the turn, and delayed whoever got it: who does not pay for that time.
void Arbiter::settle_late(unsigned tenant, std::uint64_t now) {
    Tenant& one = tenants_[tenant];
    const std::uint64_t late_ns = one.late_ns;
    one.late_ns = 0;
    // It was done by the time that it takes to be woken before this was seen.
    const std::uint64_t done_ns = std::max(late_ns, now - std::min(now, wake_ns_));
    const std::uint64_t paid_ns = std::min(done_ns, late_ns + kMostLate);
    std::uint64_t both_ns = 0;
    if (tenant == before_) {
        // Whoever was told ahead of time may have been at work as well by then: each pays for half.
        both_ns = std::min(done_ns - late_ns, lead_ns_);
        since_ns_ = std::max(since_ns_, paid_ns - both_ns / 2);
        before_ = kNobody;
    }
    book(one, late_ns + both_ns / 2, paid_ns);
}

/// Whoever does not give its turn back in time delays its neighbours, though it pays for that.
void Arbiter::doubt(Tenant& one, std::uint64_t now) {
    one.doubt = kMostDoubt;
    one.has_failed = true;
    one.failed_ns = now;
    one.kept = 0;
    one.seen_ns = 0;
    one.due_ns = 0;
}

/// It has given back a turn that was over: one that goes back at once says nothing of those that do not.
void Arbiter::trust(Tenant& one, std::uint64_t took_ns) {
    constexpr unsigned kFades = 32;
    one.due_ns = 0;
    one.seen_ns = std::max(took_ns, one.seen_ns - one.seen_ns / kFades);
    if (one.doubt == 0 || ++one.kept < (one.has_failed ? kKeptForTrust : kKeptAtFirst)) return;
    one.kept = 0;
    if (--one.doubt == 0) one.has_failed = false;
}

/// The holder has not given its turn back. One that had less time for it than the trusted have, or has said
/// that its work is about to end, may yet be in time.
void Arbiter::note_loss(Tenant& holder, std::uint64_t now) const {
    holder.late_ns = now;
    holder.given_ns = last_quantum_at();
    holder.due_ns = overdue_at();
    if (now >= holder.due_ns) doubt(holder, now);
}

std::uint64_t Arbiter::Tenant::quantum() const { return kQuantum >> doubt; }

/// Books what the holder has had, by the clock, whatever it says of itself.
void Arbiter::charge(std::uint64_t now) {
    book(tenants_[holder_], since_ns_, now);
    since_ns_ = now;
    raise_floor(now);
}

void Arbiter::give(unsigned tenant, std::uint64_t now) {
    before_ = kNobody;
    holder_ = tenant;
    since_ns_ = now;
    Tenant& one = tenants_[tenant];
    if (one.late_ns != 0) settle_late(tenant, now);
    if (one.due_ns != 0)
        doubt(one, now);  // it has asked for this one with the last one in its hands
    one.waits = false;
    one.answered = one.wants.asked;
    one.rests_ns = 0;
    one.active_ns = now;
    // Never what it says it has given back, and never 0.
    do one.grant = (one.grant + 1) & abi::kTurnGrants;
    while (one.grant == 0 || is_back(one));
}

unsigned Arbiter::find_next() const {
    unsigned best = kNobody;
    for (unsigned i = 0; i < tenants_.size(); ++i) {
        if (!tenants_[i].waits || i == holder_) continue;
        if (best == kNobody || tenants_[i].virtual_ns < tenants_[best].virtual_ns) best = i;
    }
    return best;
}

/// When the last quantum of the holder's turn begins. One that is trusted and would get the turn again, since it
/// has had less than whoever is next, goes on: the device would stand still while it gives that back.
std::uint64_t Arbiter::last_quantum_at() const {
    const Tenant& holder = tenants_[holder_];
    if (holder.doubt != 0 || next_ == kNobody) return since_ns_;
    const std::uint64_t due = since_ns_ + holder.quantum();
    return since_ns_ + std::min(std::max(due, behind_at(0)) - due, kMostAhead);
}

/// When the holder is told that its turn is over.
std::uint64_t Arbiter::over_at() const {
    const std::uint64_t due = last_quantum_at() + tenants_[holder_].quantum();
    return next_ == kNobody ? due : std::min(due, behind_at(kQuantum / 2));
}

/// When the holder loses its turn, whatever it says.
std::uint64_t Arbiter::taken_at() const {
    const Tenant& holder = tenants_[holder_];
    const std::uint64_t last = last_quantum_at();
    const std::uint64_t seen = std::min(holder.seen_ns, kQuantum + kMostBusy);
    const std::uint64_t most = last + seen + seen / 2;  // no two turns are the same
    return std::max(last + holder.quantum(), std::min(holder.wants.busy_until_ns, most)) +
           kPatience;
}

std::uint64_t Arbiter::overdue_at() const {
    return last_quantum_at() + kQuantum + kMostBusy + kOverdue;
}

/// When the next one will have had so much less than the holder, with what that has had of its turn.
std::uint64_t Arbiter::behind_at(std::uint64_t by_ns) const {
    const Tenant& holder = tenants_[holder_];
    const Tenant& next = tenants_[next_];
    const std::int64_t missing =
        next.virtual_ns + by_weight(by_ns, next.weight) - holder.virtual_ns;
    if (missing <= 0) return since_ns_;
    return since_ns_ + static_cast<std::uint64_t>(missing) * holder.weight / kScale + 1;
}

/// When the turn is over, and the work that the holder has said it has will end soon: whoever is
/// next is told by now, so that the device does not stand still until that has been woken.
std::uint64_t Arbiter::leaves_at() const {
    const std::uint64_t busy = tenants_[holder_].wants.busy_until_ns;
    if (busy == 0) return taken_at();
    return std::max({over_at(), behind_at(0), busy - std::min(busy, lead_ns_)});
}

/// Whether the turn can be taken from whoever has it.
bool Arbiter::is_due_to_lose(std::uint64_t now) const {
    const Tenant& holder = tenants_[holder_];
    if (holder.rests_ns == 0) return now > taken_at() || now >= leaves_at();
    // A rest at the end of a quantum is nothing to whoever has had more than the holder.
    return now >= holder.rests_ns + kRest ||
           (now >= since_ns_ + holder.quantum() && now >= behind_at(0)) ||
           holder.rests_ns >= behind_at(kEager);
}

void Arbiter::decide(std::uint64_t now) {
    next_ = find_next();
    if (holder_ == kNobody) {
        if (next_ != kNobody) give(next_, now);
        next_ = find_next();
    } else {
        Tenant& holder = tenants_[holder_];
        const bool back = is_back(holder);
        if (back || (next_ != kNobody && is_due_to_lose(now))) {
            if (back && now >= since_ns_ + holder.quantum())
                trust(holder, now - std::min(now, last_quantum_at()));
            else if (!back && holder.rests_ns == 0)
                note_loss(holder, now);
            charge(now);
            // Given back, and it had no more than whoever is next: its own again.
            const bool again =
                back && (next_ == kNobody || tenants_[next_].virtual_ns >= holder.virtual_ns);
            const unsigned before = holder_;
            give(again ? holder_ : next_, now);
            if (!again) look_whether_it_waits(before, now);
            if (tenants_[before].late_ns != 0) before_ = before;
            next_ = find_next();
        }
    }
    recent_ = static_cast<unsigned>(
        std::ranges::count_if(tenants_, [&](const Tenant& one) { return is_recent(one, now); }));
}

bool Arbiter::is_recent(const Tenant& one, std::uint64_t now) const {
    return one.active_ns != 0 && now - one.active_ns < kRecent;
}

bool Arbiter::is_lively(std::uint64_t now) const {
    return std::ranges::any_of(tenants_, [&](const Tenant& one) {
        return one.wants.asked != 0 && now - one.asked_ns < kStillWaiting;
    });
}

std::uint32_t Arbiter::word(unsigned tenant, std::uint64_t now) const {
    const Tenant& one = tenants_[tenant];
    std::uint32_t word = one.grant << abi::kTurnGrantShift;
    if (recent_ > (is_recent(one, now) ? 1U : 0U)) word |= abi::kTurnOthers;
    if (tenant != holder_) return word;
    word |= abi::kTurnMine;
    if (next_ == kNobody) return word;
    word |= abi::kTurnWanted;
    if (now >= over_at()) word |= abi::kTurnOver;
    if (now >= behind_at(kEager)) word |= abi::kTurnEager;
    return word;
}

std::uint64_t Arbiter::next_look(std::uint64_t now) const {
    std::uint64_t next = 0;
    const auto at = [&](std::uint64_t when) {
        if (when > now && (next == 0 || when < next)) next = when;
    };
    for (const Tenant& one : tenants_) {
        if (one.active_ns != 0) at(one.active_ns + kRecent);
    }
    if (holder_ == kNobody || next_ == kNobody) return next;
    at(over_at());
    at(behind_at(kEager));
    at(taken_at() + 1);
    at(leaves_at());
    if (const std::uint64_t rests = tenants_[holder_].rests_ns; rests != 0) at(rests + kRest);
    return next;
}

}  // namespace aliquot::turns
