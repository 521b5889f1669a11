// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "abi/turns.h"
#include "turns/arbiter.h"

/// For tests of the Arbiter: containers of many kinds in simulated time, in steps of 20 us; no driver, no latency
/// but the time that their work takes to end.
namespace aliquot::turns {

inline constexpr std::uint64_t kMs = 1'000'000;
inline constexpr std::uint64_t kStep = 20'000;
inline constexpr std::uint64_t kStart = 1'000 * 1'000 * kMs;

enum class Kind : std::uint8_t {
    kBusy,      // launches kernels of `kernel_ns` without a pause
    kWaiting,   // launches one, waits for it, and is at rest for `gap_ns`
    kIdle,      // never wants anything
    kGreedy,    // never gives back and says that it is busy for ever
    kRestless,  // the same, and says at each look that it rests
    kDead,      // takes one turn and is killed
    kReturner,  // gives its turn back the moment it has it and asks again
    kHasty,     // says all the time that its work ends in 150 us, which it does not
    kFalseEnd,  // the same, and then says that it has ended and asks again
    kSilent,    // asks, and answers nothing once it has its turn
    kAnything,  // writes any number into each word, all the time
};

struct Simulated {
    Kind kind = Kind::kBusy;
    unsigned weight = 1;
    std::uint64_t kernel_ns = kMs;
    std::uint64_t gap_ns = 0;
    std::uint64_t busy_until = 0;  // a kernel runs
    std::uint64_t idle_until = 0;
    unsigned id = 0;
    Wants wants;
    std::uint64_t had_ns = 0;  // of turns
    std::uint64_t ran_ns = 0;  // the same, and of work beyond them
    unsigned turns = 0;
    std::uint64_t wanted_at = 0;  // it waits for the turn since; 0: not
    std::vector<std::uint64_t> waits_ns;
};

class World {
public:
    explicit World(std::vector<Simulated> tenants) : tenants_(std::move(tenants)) {
        for (Simulated& one : tenants_) one.id = arbiter_.add(one.weight);
    }

    void run(double seconds) {
        const auto end = now_ + static_cast<std::uint64_t>(seconds * 1000) * kMs;
        for (; now_ < end; now_ += kStep) {
            for (Simulated& one : tenants_) act(one);
            for (const Simulated& one : tenants_) arbiter_.see(one.id, one.wants, now_);
            arbiter_.decide(now_);
            note();
        }
    }
    /// In percent of all time since the start.
    [[nodiscard]] double share(unsigned index) const {
        return 100.0 * static_cast<double>(tenants_[index].had_ns) /
               static_cast<double>(now_ - kStart);
    }
    [[nodiscard]] double ran(unsigned index) const {
        return 100.0 * static_cast<double>(tenants_[index].ran_ns) /
               static_cast<double>(now_ - kStart);
    }
    /// Of a hundred of its launches 99 waited no longer for the turn.
    [[nodiscard]] std::uint64_t most_wait_ns(unsigned index) {
        auto& waits = tenants_[index].waits_ns;
        std::ranges::sort(waits);
        return waits.empty() ? ~std::uint64_t{0} : waits[waits.size() * 99 / 100];
    }
    [[nodiscard]] std::uint64_t longest_ns() const { return longest_ns_; }
    Simulated& operator[](unsigned index) { return tenants_[index]; }
    Arbiter& arbiter() { return arbiter_; }

private:
    [[nodiscard]] std::uint32_t word(const Simulated& one) const {
        return arbiter_.word(one.id, now_);
    }
    [[nodiscard]] bool has_turn(const Simulated& one) const {
        return (word(one) & abi::kTurnMine) != 0 &&
               word(one) >> abi::kTurnGrantShift != one.wants.done;
    }
    std::uint32_t random() { return static_cast<std::uint32_t>(random_()); }
    void ask(Simulated& one) const {
        one.wants.asked = static_cast<std::uint32_t>(now_ / (2 * kMs)) | 1U;
    }
    void give_back(Simulated& one) const { one.wants.done = word(one) >> abi::kTurnGrantShift; }

    void act(Simulated& one) {
        switch (one.kind) {
            case Kind::kIdle:
                return;
            case Kind::kGreedy:
            case Kind::kRestless:
                ask(one);
                one.wants.busy_until_ns = ~std::uint64_t{0};
                if (one.kind == Kind::kRestless && has_turn(one)) one.wants.rests += 2;
                if (one.kind == Kind::kRestless) one.wants.rests |= 1U;
                return;
            case Kind::kDead:
                if (one.turns == 0) ask(one);
                return;
            case Kind::kHasty:
            case Kind::kFalseEnd:
                return lie_of_an_end(one);
            case Kind::kSilent:
                if (!has_turn(one)) ask(one);
                return;
            case Kind::kAnything:
                one.wants = {.asked = random(),
                             .rests = random(),
                             .done = random(),
                             .busy_until_ns = std::uint64_t{random()} << random() % 32};
                if (random() % 4 == 0) give_back(one);
                return;
            case Kind::kReturner:
                if (has_turn(one)) give_back(one);
                one.wants.asked = static_cast<std::uint32_t>(now_ / kStep) | 1U;
                return;
            default:
                launch(one);
        }
    }
    void lie_of_an_end(Simulated& one) const {
        constexpr std::uint64_t kSoon = 150'000;
        const bool is_over = one.wants.busy_until_ns != 0 && now_ >= one.wants.busy_until_ns;
        ask(one);
        if (!has_turn(one) || is_over || one.kind == Kind::kHasty)
            one.wants.busy_until_ns = now_ + kSoon;
        if (has_turn(one) && is_over && one.kind == Kind::kFalseEnd) give_back(one);
    }
    void launch(Simulated& one) {
        if (now_ < one.busy_until) return;  // its kernel runs, also beyond its turn
        const bool rests =
            one.kind == Kind::kWaiting && one.busy_until != 0 && now_ < one.busy_until + one.gap_ns;
        if (rests) {
            if ((word(one) & abi::kTurnMine) == 0)
                give_back(one);
            else if (has_turn(one))
                one.wants.rests |= 1U;
            return;
        }
        one.wants.rests += one.wants.rests % 2;
        const std::uint32_t seen = word(one);
        const bool is_late = (seen & abi::kTurnMine) == 0;
        if (is_late || (seen & abi::kTurnOver) != 0) give_back(one);
        if (!has_turn(one)) {
            if (one.wanted_at == 0) one.wanted_at = now_;
            return ask(one);
        }
        one.waits_ns.push_back(one.wanted_at == 0 ? 0 : now_ - one.wanted_at);
        one.wanted_at = 0;
        one.wants.asked = 0;
        one.busy_until = now_ + one.kernel_ns;
        one.wants.busy_until_ns = one.busy_until;
    }
    void note() {
        const unsigned holder = arbiter_.holder();
        // A kernel that outlives its turn has the device in slices with whoever has it now.
        const auto runs_on = [&](const Simulated& one) {
            return one.id != holder && now_ < one.busy_until;
        };
        const auto running = std::ranges::count_if(tenants_, runs_on);
        const std::uint64_t slice = kStep / static_cast<std::uint64_t>(1 + running);
        for (Simulated& one : tenants_) {
            if (one.id == holder || runs_on(one)) one.ran_ns += slice;
            if (one.id != holder) continue;
            one.had_ns += kStep;
            if (holder != last_) ++one.turns;
        }
        if (holder != last_) since_ = now_;
        last_ = holder;
        longest_ns_ = std::max(longest_ns_, now_ - since_);
    }

    std::vector<Simulated> tenants_;
    Arbiter arbiter_;
    std::uint64_t now_ = kStart;
    std::uint64_t since_ = kStart;
    std::uint64_t longest_ns_ = 0;
    std::mt19937 random_{7};
    unsigned last_ = Arbiter::kNobody;
};

}  // namespace aliquot::turns
