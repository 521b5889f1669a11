// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "controller/placement_options.h"
#include "controller/shared_books.h"
#include "kube_client/event_recorder.h"

namespace aliquot::controller {

/// Evicts pods of a lower priority for one that has no place. PodDisruptionBudgets hold: the API server refuses an
/// eviction that they forbid, and others are looked for. For one pod at most three times in ten minutes: who takes the
/// room from it each time would go on doing so. Used by one thread.
class Preemptor {
public:
    struct Outcome {
        unsigned evicted = 0;
        unsigned refused = 0;
        bool keeps_node = false;  // a node is kept for it now
        std::string words;  // "1 of lower priority leaves node-1 for it"; empty: nothing is done
    };
    Preemptor(PlacementWorld world, kube_client::EventRecorder& events,
              const PlacementOptions& options)
        : world_(std::move(world)), events_(events), options_(options) {}

    /// Before the pods that wait are looked at one after the other: the time for them begins anew.
    void begin_look() { spent_ = {}; }
    /// As the leader, of a pod that waits. Nothing is done when those before it took the time of this look, nor for a
    /// while after nobody was found. The node is kept for it in the books while its victims leave.
    Outcome make_room(const scheduling::GpuPod& pod, SharedBooks& books,
                      const std::stop_token& stop);
    /// The pods (uids) that a node is kept for; those that wait no more are forgotten.
    std::set<std::string> holders(const std::function<bool(const std::string& uid)>& waits);

private:
    using Steady = std::chrono::steady_clock;
    using Until = std::map<std::string, Steady::time_point>;  // by uid
    /// A pod that others were evicted for, or leave for.
    struct Seeker {
        std::optional<Steady::time_point> kept_until{};  // a node for it; empty: none was yet
        Steady::time_point since;                        // `rounds` are counted
        unsigned rounds = 0;                             // of evictions

        [[nodiscard]] bool keeps_node(Steady::time_point now) const {
            return kept_until && *kept_until >= now;
        }
    };

    /// Whether one budget for several of them lets all go.
    bool may_all_go(const std::vector<scheduling::GpuPod>& victims, const scheduling::GpuPod& pod,
                    Outcome& outcome, const std::stop_token& stop);
    void spare(const scheduling::GpuPod& victim, const scheduling::GpuPod& pod, Outcome& outcome,
               const std::string& why);
    bool evict_all(const scheduling::Preemption& found, const scheduling::GpuPod& pod,
                   Outcome& outcome, const std::stop_token& stop);
    [[nodiscard]] bool are_too_many() const;
    std::optional<scheduling::Preemption> search(const scheduling::GpuPod& pod, SharedBooks& books);
    bool evict(const scheduling::GpuPod& victim, const scheduling::GpuPod& pod, Outcome& outcome,
               bool dry_run, const std::stop_token& stop);
    [[nodiscard]] scheduling::PreemptionRules rules_for(const scheduling::GpuPod& pod);

    const PlacementWorld world_;
    kube_client::EventRecorder& events_;
    const PlacementOptions& options_;
    std::map<std::string, Seeker> seekers_;  // by uid
    Until searched_;                         // in vain
    std::chrono::steady_clock::duration spent_{};
    Until evicted_;
    Until spared_;
};

}  // namespace aliquot::controller
