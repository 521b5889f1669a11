// SPDX-License-Identifier: Apache-2.0
#include "pins/decide.h"

#include <algorithm>
#include <optional>
#include <set>

#include "base/text.h"
#include "base/time_text.h"
#include "pins/room.h"

namespace aliquot::pins {
namespace {

using Time = std::chrono::system_clock::time_point;
using std::chrono::seconds;

class Decider {
public:
    Decider(const World& world, const Rules& rules, Time now)
        : world_(world), rules_(rules), now_(now), room_(world.slices, world.nodes) {
        for (const KnownClaim& claim : world.claims) claims_[claim.claim.full_name()] = &claim;
        for (const PinnedPod& pod : world.pods) {
            if (const KnownClaim* const claim = own_claim(pod)) pod_of_[claim] = &pod;
        }
        for (const KnownClaim& claim : world.claims) room_.take(claim, wish_of(claim));
    }

    std::vector<Act> run() {
        std::vector<const PinnedPod*> queue;
        for (const PinnedPod& pod : world_.pods) {
            const bool waits = pod.pod.node.empty() && !pod.pod.is_over && !pod.pod.is_leaving;
            if (waits) queue.push_back(&pod);
        }
        std::ranges::sort(queue, [](const PinnedPod* a, const PinnedPod* b) {
            return scheduling::comes_before(a->pod, b->pod);
        });
        for (const PinnedPod* const pod : queue) tend(*pod);
        return std::move(acts_);
    }

private:
    [[nodiscard]] const KnownClaim* find(const PinnedPod& pod) const {
        const auto found = claims_.find(pod.pod.name_space + "/" + pod.claim);
        return found == claims_.end() ? nullptr : found->second;
    }
    /// The claim that was made for this pod and no other.
    [[nodiscard]] const KnownClaim* own_claim(const PinnedPod& pod) const {
        const KnownClaim* const claim = find(pod);
        const bool own = claim != nullptr && claim->tries > 0 && claim->owner == pod.pod.uid;
        return own ? claim : nullptr;
    }
    [[nodiscard]] const admission::ClaimRequest* wish_of(const KnownClaim& claim) const {
        const auto pod = pod_of_.find(&claim);
        return pod == pod_of_.end() ? nullptr : &pod->second->request;
    }

    Act act_for(const PinnedPod& pod, Act::Kind kind) const {
        return {.kind = kind,
                .name_space = pod.pod.name_space,
                .pod = pod.pod.name,
                .pod_uid = pod.pod.uid,
                .claim = pod.claim};
    }

    void tend(const PinnedPod& pod) {
        const KnownClaim* const claim = find(pod);
        if (claim == nullptr) return make(pod);
        if (own_claim(pod) == nullptr) {
            Act act = act_for(pod, Act::Kind::kSay);
            act.note = "the claim " + pod.claim + " is not the one that is made for this pod";
            acts_.push_back(std::move(act));
            return;
        }
        // One that is allocated keeps its GPU also when the pod could not be bound.
        if (!claim->claim.allocation) look_at_unallocated(pod, *claim);
    }

    void make(const PinnedPod& pod) {
        if (const auto place = room_.choose(pod, {})) {
            return write(pod, act_for(pod, Act::Kind::kCreate), 1, place);
        }
        if (rules_.preemption && room_.could_ever(pod) && make_room(pod)) return;
        write(pod, act_for(pod, Act::Kind::kCreate), 1, std::nullopt);
    }

    void write(const PinnedPod& pod, Act act, unsigned tries, std::optional<Room::Place> place) {
        const auto gpus = place ? place->gpus : std::vector<std::string>();
        act.json = claim_object(pod, tries, gpus, place ? place->consumes : room_.consumes());
        if (gpus.empty()) {
            act.note = "no GPU has room for it now: kube-scheduler takes the first that has";
        }
        acts_.push_back(std::move(act));
        KnownClaim assumed;
        assumed.claim.name_space = pod.pod.name_space;
        assumed.claim.name = pod.claim;
        assumed.gpus = gpus;
        room_.take(assumed, &pod.request);
    }

    /// How long kube-scheduler is waited for.
    [[nodiscard]] seconds wait_of(const KnownClaim& claim) const {
        seconds wait = rules_.patience;
        for (unsigned i = rules_.quick_tries; i < claim.tries && wait < rules_.longest_wait; ++i) {
            wait *= 2;
        }
        return std::min(wait, rules_.longest_wait);
    }

    void look_at_unallocated(const PinnedPod& pod, const KnownClaim& claim) {
        const auto created = parse_rfc3339(claim.created);
        const bool refused =
            !pod.pod.unschedulable.empty() && created && now_ - *created >= wait_of(claim);
        if (!refused || claim.gpus.empty()) return;  // unpinned: whoever has room first
        room_.give_back(claim, &pod.request);
        auto place = room_.choose(pod, {claim.gpus.begin(), claim.gpus.end()});
        if (!place) place = room_.choose(pod, {});  // some of them, of several
        // Only the rest of the pod does not fit there, and no other GPU is free: it waits where it is.
        if (place && std::ranges::is_permutation(place->gpus, claim.gpus)) {
            return room_.take(claim, &pod.request);
        }
        Act act = act_for(pod, Act::Kind::kReplace);
        act.old_uid = claim.claim.uid;
        act.old_version = claim.resource_version;
        act.note = "GPU " + join(claim.gpus, ", ") + " could not be had (" + pod.pod.unschedulable +
                   "): try " + std::to_string(claim.tries + 1);
        write(pod, std::move(act), claim.tries + 1, std::move(place));
    }

    /// Pods of a lower priority that have parts of a GPU by claims of ours, those with the lowest first.
    [[nodiscard]] std::vector<const KnownClaim*> lower(const Gpu& gpu, const PinnedPod& pod) const {
        std::vector<const KnownClaim*> claims;
        for (const auto& [claim, holder] : pod_of_) {
            if (!gpu.holders.contains(claim->claim.full_name()) || !claim->claim.allocation)
                continue;
            if (holder->pod.priority < pod.pod.priority) claims.push_back(claim);
        }
        std::ranges::sort(claims, [&](const KnownClaim* a, const KnownClaim* b) {
            const auto& left = pod_of_.at(a)->pod;
            const auto& right = pod_of_.at(b)->pod;
            return std::pair(left.priority, right.created) <
                   std::pair(right.priority, left.created);
        });
        return claims;
    }

    /// True: pods are on their way out, or are asked to go.
    bool make_room(const PinnedPod& pod) {
        if (!pod.pod.may_preempt || pod.request.count > 1 || pod.request.is_mig()) return false;
        std::optional<std::vector<const KnownClaim*>> fewest;
        for (const Gpu& gpu : room_.gpus()) {
            if (!room_.admits(gpu, pod.pod)) continue;
            std::vector<const KnownClaim*> gone;
            for (const KnownClaim* const claim : lower(gpu, pod)) {
                gone.push_back(claim);
                if (!room_.fits_without(gpu, pod.request, gone)) continue;
                if (!fewest || gone.size() < fewest->size()) fewest = gone;
                break;
            }
        }
        if (!fewest) return false;
        Act act = act_for(pod, Act::Kind::kEvict);
        for (const KnownClaim* const claim : *fewest) {
            const scheduling::GpuPod& victim = pod_of_.at(claim)->pod;
            if (!victim.is_leaving) act.victims.emplace_back(victim.name_space, victim.name);
            room_.give_back(*claim, nullptr);
        }
        // What they leave is this pod's, and nobody else's of the queue.
        KnownClaim assumed;
        assumed.claim.name_space = pod.pod.name_space;
        assumed.claim.name = pod.claim;
        if (const auto place = room_.choose(pod, {})) assumed.gpus = place->gpus;
        room_.take(assumed, &pod.request);
        if (!act.victims.empty()) acts_.push_back(std::move(act));
        return true;
    }

    const World& world_;
    const Rules& rules_;
    const Time now_;
    Room room_;
    std::map<std::string, const KnownClaim*> claims_;       // by "namespace/name"
    std::map<const KnownClaim*, const PinnedPod*> pod_of_;  // of those that we have made
    std::vector<Act> acts_;
};

}  // namespace

std::vector<Act> decide(const World& world, const Rules& rules,
                        std::chrono::system_clock::time_point now) {
    return Decider(world, rules, now).run();
}

}  // namespace aliquot::pins
