// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "scheduling/bookings.h"
#include "scheduling/disruption_budget.h"

/// Moving pods that run: who may be moved, and what becomes of the books, one move after the other.
namespace aliquot::scheduling {

struct MoveRules {
    std::string bound_before;        // RFC 3339: who was bound later, or nobody knows when, stays
    std::int32_t most_priority = 0;  // who has a higher one stays
    std::size_t most_moves = 10;
    std::vector<DisruptionBudget> budgets{};
    std::map<std::string, std::string> spared{};  // uid -> why it stays: "have volumes ..."
};

/// Why the pod is not to be moved, of several such pods: "are of gangs". Empty: it may be, if a budget lets it.
std::string why_it_stays(const GpuPod& pod, const MoveRules& rules);

/// The pod that its owner makes in place of this one: another one, bound to no node, with the rules that its owner wrote.
GpuPod next_of(const GpuPod& pod, const Bookings& bookings);

/// What nobody holds anything of.
struct WhollyFree {
    unsigned gpus = 0;
    unsigned nodes = 0;  // whose GPUs are all free
    friend bool operator==(const WhollyFree&, const WhollyFree&) = default;
};
WhollyFree wholly_free(const Bookings& bookings);
bool is_wholly_free(const Bookings& bookings, const std::string& node, const std::string& gpu);

struct PlannedMove {
    GpuPod pod;  // as it is before
    Target from;
    Target to;
    std::vector<std::string> opens;  // uuids of GPUs of `from.node` that are wholly free after it
    bool opens_node = false;         // all of them are
    WhollyFree after{};              // it and those before it
};

/// Moves that are made in books, each after those before it, and never against a rule; a pod that was moved is
/// another one then, which nobody moves again. The pod that comes must fit
/// while the one that goes is still there: some owners make it at once, and it may take long to go. Not thread-safe.
class Moves {
public:
    Moves(Bookings& bookings, const MoveRules& rules) : bookings_(bookings), rules_(rules) {}

    /// Empty: it was made. Else why it cannot be, one line; nothing has changed.
    std::string make(const std::string& uid, const Target& to);
    /// As if only the first `count` had been made.
    void take_back_to(std::size_t count);
    [[nodiscard]] const std::vector<PlannedMove>& made() const { return made_; }

private:
    [[nodiscard]] std::string keeps_from(const GpuPod& next, const Target& to) const;
    [[nodiscard]] std::string budget_against(const GpuPod& pod) const;

    Bookings& bookings_;
    const MoveRules& rules_;
    std::vector<PlannedMove> made_;
};

/// What comes of moves that were planned before, in books as they are now.
struct Replay {
    WhollyFree before;
    WhollyFree after;
    std::string wrong;  // why one of them cannot be made; empty: all were
};
/// The books are left as the moves leave them.
Replay replay(Bookings& bookings, const MoveRules& rules, const std::vector<PlannedMove>& moves);

}  // namespace aliquot::scheduling
