// SPDX-License-Identifier: Apache-2.0
#include "telemetry/departures.h"

#include <algorithm>
#include <set>
#include <utility>

namespace aliquot::telemetry {
namespace {

/// For how many looks a container that holds a part may have run something that was not seen.
constexpr unsigned kNewLooks = 10;

Claim& claim_for(const pods::Owner& owner, const std::string& resource, Claims& claims) {
    const auto found = std::ranges::find_if(claims.list, [&](const Claim& one) {
        return one.resource == resource && same_container(one.owner, owner);
    });
    if (found != claims.list.end()) return *found;
    // Whoever came after it has not had the part for itself since the look before.
    for (Claim& claim : claims.list) claim.whole = false;
    claims.list.push_back({.owner = owner, .resource = resource, .gone = true});
    return claims.list.back();
}

std::set<std::uint32_t> pids_in(const Claims& claims) {
    std::set<std::uint32_t> pids;
    for (const ClaimedProcess& one : claims.others) pids.insert(one.process.pid);
    for (const Claim& claim : claims.list) {
        for (const ClaimedProcess& one : claim.processes) pids.insert(one.process.pid);
    }
    return pids;
}

}  // namespace

void Departures::note(Claims& claims) {
    if (!claims.processes_known) return;
    note_left(claims);
    note_quiet(claims);
    remember(claims);
}

void Departures::note_left(Claims& claims) {
    constexpr std::uint64_t kLate = 4;  // of a look at most so much is told after it
    for (const Runner& runner : std::exchange(left_, {})) {
        claim_for(runner.owner, runner.resource, claims).late_weight +=
            std::max<std::uint64_t>(runner.use_ns / kLate, 1);
    }
    const auto running = pids_in(claims);
    for (const auto& [pid, runner] : runners_) {
        if (running.contains(pid)) continue;
        const auto told = claims.unlisted_uses.find(pid);
        const std::uint64_t use = told == claims.unlisted_uses.end() ? 0 : told->second;
        const std::uint64_t weight = std::max<std::uint64_t>(runner.use_ns, 1);
        if (runner.owner == pods::Owner{}) {
            claims.others_use_ns += use;
            claims.others_left_weight += weight;
            continue;
        }
        Claim& claim = claim_for(runner.owner, runner.resource, claims);
        claim.left_weight += weight;
        left_.push_back(runner);
        if (claims.uses_known) claim.process_use_ns = claim.process_use_ns.value_or(0) + use;
    }
}

void Departures::note_quiet(Claims& claims) {
    for (Quiet& one : holders_) one.seen = false;
    for (Claim& claim : claims.list) {
        if (claim.ids.empty()) continue;
        auto known = std::ranges::find_if(holders_, [&](const Quiet& one) {
            return one.resource == claim.resource && same_container(one.owner, claim.owner);
        });
        if (known == holders_.end()) {
            holders_.push_back({.owner = claim.owner, .resource = claim.resource});
            known = std::prev(holders_.end());
        }
        known->seen = true;
        known->ran =
            known->ran || !claim.processes.empty() || claim.left_weight + claim.late_weight != 0;
        ++known->looks;
        claim.maybe_ran = !known->ran && known->looks <= kNewLooks;
    }
    for (const Quiet& one : holders_) {
        if (one.seen || one.ran || one.looks > kNewLooks) continue;
        claim_for(one.owner, one.resource, claims).maybe_ran = true;
    }
    std::erase_if(holders_, [](const Quiet& one) { return !one.seen; });
}

void Departures::remember(const Claims& claims) {
    runners_.clear();
    for (const ClaimedProcess& one : claims.others) {
        runners_[one.process.pid] = {.use_ns = one.use_ns.value_or(0)};
    }
    for (const Claim& claim : claims.list) {
        for (const ClaimedProcess& one : claim.processes) {
            runners_[one.process.pid] = {
                .owner = claim.owner, .resource = claim.resource, .use_ns = one.use_ns.value_or(0)};
        }
    }
}

}  // namespace aliquot::telemetry
