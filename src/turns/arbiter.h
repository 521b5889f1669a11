// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace aliquot::turns {

/// What a container says about one device, as it was read once (abi::Demand).
struct Wants {
    std::uint32_t asked = 0;
    std::uint32_t rests = 0;
    std::uint32_t done = 0;
    std::uint64_t busy_until_ns = 0;
};

/// Who has one device now: of the containers that want it at the same time one has it at a time, for
/// a quantum, in proportion to their weights. While only one wants it, it has it.
///
/// Weighted fair queueing by virtual time (time held / weight; the least is next). All times are
/// CLOCK_MONOTONIC nanoseconds of the caller. What containers say decides only whether they get the
/// turn and when they are ready to give it back: what they had is measured here, by the clock, and
/// whoever does not give it back has it taken away. Makes no system call; not thread-safe.
class Arbiter {
public:
    static constexpr std::uint64_t kQuantum = 8'000'000;
    /// A trusted container that would get its turn again goes on with it, so much longer at most.
    static constexpr std::uint64_t kMostAhead = 16'000'000;
    /// How far behind the others a container that comes back may be: it gets that much at once.
    /// Whoever has not given a turn back in the last kGrudge gets nothing at once.
    static constexpr std::uint64_t kCredit = 24'000'000;
    static constexpr std::uint64_t kGrudge = 10'000'000'000;
    /// A holder with nothing to do keeps its turn that long: it may be about to launch again.
    static constexpr std::uint64_t kRest = 200'000;
    /// Whoever is that far behind a holder at rest gets the turn at once; with less, each wait of a
    /// program that waits for every launch would cost a change of turns.
    static constexpr std::uint64_t kEager = 2'000'000;
    /// A holder that does not give its turn back loses it so long after its end, or after that of its work:
    /// nobody waits longer for one that does not answer. Work is believed to last half as long again as turns of
    /// that container took of late until they were given back: that it has paid for.
    static constexpr std::uint64_t kPatience = 500'000;
    /// A turn that was taken away is given back within kQuantum, kMostBusy and this, or its container is doubted.
    static constexpr std::uint64_t kOverdue = 20'000'000;
    /// A container begins doubted so much: each doubt halves kQuantum. Whatever one that is new says, neighbours
    /// wait 1 ms at most for it; that its work takes longer is charged as late.
    static constexpr unsigned kMostDoubt = 4;
    /// So many turns that it gave back when it had to, one after the other, take one doubt away of one that is new.
    static constexpr unsigned kKeptAtFirst = 4;
    /// The same of one that has not given one back in time, which brings all doubt back.
    static constexpr unsigned kKeptForTrust = 128;
    /// So long before the end of a holder's last work the next one is told at least, and at most: it
    /// takes two threads that wake, the arbiter's and its own, to begin.
    static constexpr std::uint64_t kLeastLead = 150'000;
    static constexpr std::uint64_t kMostLead = 1'500'000;
    /// Beyond a quantum, no work in flight is believed to last longer: kernels cannot be stopped.
    static constexpr std::uint64_t kMostBusy = 100'000'000;
    /// Whoever lost its turn pays on until its work is done, for so long at most.
    static constexpr std::uint64_t kMostLate = 250'000'000;
    /// Whoever has used the device so recently counts as a neighbour.
    static constexpr std::uint64_t kRecent = 2'000'000'000;
    /// Whoever waits says so every few milliseconds; a process that was killed does not.
    static constexpr std::uint64_t kStillWaiting = 50'000'000;

    static constexpr unsigned kNobody = ~0U;

    /// A new container that takes turns. `weight` 0 counts as 1.
    unsigned add(std::uint32_t weight);
    void remove(unsigned tenant);
    void set_weight(unsigned tenant, std::uint32_t weight);
    /// How long a thread takes to wake on this machine (WakeTime); 0 until the first call.
    void set_wake_time(std::uint64_t wake_ns);
    [[nodiscard]] bool is_empty() const;

    /// What it says now.
    void see(unsigned tenant, const Wants& wants, std::uint64_t now);
    /// Passes the turn on where that is due. After all was seen.
    void decide(std::uint64_t now);

    [[nodiscard]] unsigned holder() const { return holder_; }
    /// abi::Turn::word for one container, as of the last decide().
    [[nodiscard]] std::uint32_t word(unsigned tenant, std::uint64_t now) const;
    /// Somebody waits for the turn, or did so a moment ago: what they say is to be looked at often.
    [[nodiscard]] bool is_lively(std::uint64_t now) const;
    /// When to decide again though nobody says anything new; 0: not needed.
    [[nodiscard]] std::uint64_t next_look(std::uint64_t now) const;
    [[nodiscard]] std::uint64_t weight(unsigned tenant) const { return tenants_[tenant].weight; }

private:
    struct Tenant {
        bool used = false;
        bool waits = false;
        Wants wants;
        std::uint32_t answered = 0;  // Wants::asked that a turn was given for
        std::uint32_t grant = 0;
        std::uint64_t weight = 1;
        std::int64_t virtual_ns = 0;
        std::uint64_t asked_ns = 0;   // it has asked anew
        std::uint64_t active_ns = 0;  // it wanted or had the device last
        std::uint64_t rests_ns = 0;   // it rests since; 0: it does not
        std::uint64_t late_ns = 0;    // its turn was taken away and it is charged from; 0: not
        unsigned doubt = kMostDoubt;  // 0 to that
        unsigned kept = 0;            // turns that it gave back in time since
        bool has_failed = false;      // to give one back, and has not earned all trust since
        std::uint64_t failed_ns = 0;  // the last time that it did; 0: never
        std::uint64_t due_ns = 0;     // a turn that was taken away is to be back by then; 0: none
        std::uint64_t given_ns = 0;   // that turn
        std::uint64_t seen_ns = 0;    // so long turns took of late until they were given back
        [[nodiscard]] std::uint64_t quantum() const;
    };

    [[nodiscard]] bool is_back(const Tenant& one) const { return one.wants.done == one.grant; }
    [[nodiscard]] bool is_recent(const Tenant& one, std::uint64_t now) const;
    void look_whether_it_waits(unsigned tenant, std::uint64_t now);
    void begin_to_wait(unsigned tenant, std::uint64_t now);
    void raise_floor(std::uint64_t now);
    void book(Tenant& one, std::uint64_t from, std::uint64_t now);
    void settle_late(unsigned tenant, std::uint64_t now);
    void charge(std::uint64_t now);
    static void doubt(Tenant& one, std::uint64_t now);
    static void trust(Tenant& one, std::uint64_t took_ns);
    void note_loss(Tenant& holder, std::uint64_t now) const;
    void give(unsigned tenant, std::uint64_t now);
    [[nodiscard]] unsigned find_next() const;
    [[nodiscard]] bool is_due_to_lose(std::uint64_t now) const;
    [[nodiscard]] std::uint64_t last_quantum_at() const;
    [[nodiscard]] std::uint64_t over_at() const;
    [[nodiscard]] std::uint64_t taken_at() const;
    [[nodiscard]] std::uint64_t overdue_at() const;
    [[nodiscard]] std::uint64_t leaves_at() const;
    [[nodiscard]] std::uint64_t behind_at(std::uint64_t by_ns) const;

    std::vector<Tenant> tenants_;
    unsigned holder_ = kNobody;
    unsigned next_ = kNobody;    // of those that wait, the furthest behind
    unsigned before_ = kNobody;  // had the turn before the holder, and its work is under way
    unsigned recent_ = 0;        // containers that have used the device of late
    std::uint64_t wake_ns_ = 0;
    std::uint64_t lead_ns_ = kLeastLead;
    std::uint64_t since_ns_ = 0;  // the turn is charged from
    std::int64_t floor_ns_ = 0;   // of virtual time
};

}  // namespace aliquot::turns
