// SPDX-License-Identifier: Apache-2.0
#include "telemetry/departures.h"

#include <algorithm>
#include <set>
#include <utility>

namespace aliquot::telemetry {
namespace {

/// For how many looks a container that holds a part may have run something that was not seen.
constexpr unsigned kNewLooks = 10;

Occupant& occupant_for(const pods::Owner& owner, const std::string& resource,
                       Occupants& occupants) {
    const auto found = std::ranges::find_if(occupants.list, [&](const Occupant& one) {
        return one.resource == resource && same_container(one.owner, owner);
    });
    if (found != occupants.list.end()) return *found;
    // Whoever came after it has not had the part for itself since the look before.
    for (Occupant& occupant : occupants.list) occupant.whole = false;
    occupants.list.push_back({.owner = owner, .resource = resource, .gone = true});
    return occupants.list.back();
}

std::set<std::uint32_t> pids_in(const Occupants& occupants) {
    std::set<std::uint32_t> pids;
    for (const MeteredProcess& one : occupants.others) pids.insert(one.process.pid);
    for (const Occupant& occupant : occupants.list) {
        for (const MeteredProcess& one : occupant.processes) pids.insert(one.process.pid);
    }
    return pids;
}

}  // namespace

void Departures::note(Occupants& occupants) {
    if (!occupants.processes_known) return;
    note_left(occupants);
    note_quiet(occupants);
    remember(occupants);
}

void Departures::note_left(Occupants& occupants) {
    constexpr std::uint64_t kLate = 4;  // of a look at most so much is told after it
    for (const Runner& runner : std::exchange(left_, {})) {
        occupant_for(runner.owner, runner.resource, occupants).late_weight +=
            std::max<std::uint64_t>(runner.use_ns / kLate, 1);
    }
    const auto running = pids_in(occupants);
    for (const auto& [pid, runner] : runners_) {
        if (running.contains(pid)) continue;
        const auto told = occupants.unlisted_uses.find(pid);
        const std::uint64_t use = told == occupants.unlisted_uses.end() ? 0 : told->second;
        const std::uint64_t weight = std::max<std::uint64_t>(runner.use_ns, 1);
        if (runner.owner == pods::Owner{}) {
            occupants.others_use_ns += use;
            occupants.others_left_weight += weight;
            continue;
        }
        Occupant& occupant = occupant_for(runner.owner, runner.resource, occupants);
        occupant.left_weight += weight;
        left_.push_back(runner);
        if (occupants.uses_known)
            occupant.process_use_ns = occupant.process_use_ns.value_or(0) + use;
    }
}

void Departures::note_quiet(Occupants& occupants) {
    for (Quiet& one : holders_) one.seen = false;
    for (Occupant& occupant : occupants.list) {
        if (occupant.ids.empty()) continue;
        auto known = std::ranges::find_if(holders_, [&](const Quiet& one) {
            return one.resource == occupant.resource && same_container(one.owner, occupant.owner);
        });
        if (known == holders_.end()) {
            holders_.push_back({.owner = occupant.owner, .resource = occupant.resource});
            known = std::prev(holders_.end());
        }
        known->seen = true;
        known->ran = known->ran || !occupant.processes.empty() ||
                     occupant.left_weight + occupant.late_weight != 0;
        ++known->looks;
        occupant.maybe_ran = !known->ran && known->looks <= kNewLooks;
    }
    for (const Quiet& one : holders_) {
        if (one.seen || one.ran || one.looks > kNewLooks) continue;
        occupant_for(one.owner, one.resource, occupants).maybe_ran = true;
    }
    std::erase_if(holders_, [](const Quiet& one) { return !one.seen; });
}

void Departures::remember(const Occupants& occupants) {
    runners_.clear();
    for (const MeteredProcess& one : occupants.others) {
        runners_[one.process.pid] = {.use_ns = one.use_ns.value_or(0)};
    }
    for (const Occupant& occupant : occupants.list) {
        for (const MeteredProcess& one : occupant.processes) {
            runners_[one.process.pid] = {.owner = occupant.owner,
                                         .resource = occupant.resource,
                                         .use_ns = one.use_ns.value_or(0)};
        }
    }
}

}  // namespace aliquot::telemetry
