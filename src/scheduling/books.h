// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "scheduling/decision.h"
#include "scheduling/defrag.h"
#include "scheduling/gang_fit.h"
#include "scheduling/gangs.h"
#include "scheduling/gpu_pod.h"
#include "scheduling/preemption.h"
#include "scheduling/served_node.h"

namespace aliquot::scheduling {

/// Who has what of every GPU that our agents serve: what agents tell to be granted, what is planned for pods
/// on their way, and the choice of the next place (placement::Engine). No GPU is ever promised more than it
/// has by decide(). What the cluster did beside us is booked as far as it fits and counted else.
/// Not thread-safe.
class Books {
public:
    struct Options {
        unsigned targets = 3;         // nodes that one pod may go to
        unsigned spread_targets = 8;  // of one with rules that kube-scheduler judges between nodes
    };

    Books();
    explicit Books(Options options);
    ~Books();
    Books(Books&&) noexcept;
    Books& operator=(Books&&) noexcept;

    void set_node(ServedNode node);
    void remove_node(const std::string& name);
    /// The labels of a node that no agent of ours serves: pods of ours may want to be near others there.
    void set_labels(const std::string& node, k8s::Labels labels);
    void remove_labels(const std::string& node);

    /// A pod as it is now: bound ones are booked where they are, on the GPUs that were granted, else on those
    /// that were planned, else where they fit best; others keep what decide() gave them.
    void set_pod(const GpuPod& pod);
    void remove_pod(const std::string& uid);
    /// What decide() gave it is given back. Nothing happens to one that is bound.
    void forget(const std::string& uid);
    /// Keeps what an earlier leader planned: its targets, as far as they still fit.
    void adopt(const GpuPod& pod, const std::vector<Target>& targets);

    /// The pod is about to be bound to this node: its GPUs there are final from now on, as if it were bound, and what is
    /// kept for it elsewhere is free again. What is only planned for others gives way if need be, and looks for
    /// other GPUs of its nodes. The same answer when asked again; another node takes the place of the first.
    /// Nothing changes where there is no room.
    Seat bind(const GpuPod& pod, const std::string& node);
    /// The pod was not bound after all: what bind() gave it is free again. Nothing happens to one that set_pod() has
    /// shown bound.
    void take_back(const std::string& uid);
    /// For each of these nodes whether it has GPUs for the pod now. CPU, labels and taints are not looked at.
    [[nodiscard]] std::vector<NodeVerdict> judge(const GpuPod& pod,
                                                 const std::vector<std::string>& nodes) const;
    /// What each node that could take the pod would cost, by node; the less the better.
    std::map<std::string, std::int64_t> costs(const GpuPod& pod);

    /// Where the pod may go. Its targets are kept for it until set_pod() shows it bound, forget() or
    /// remove_pod().
    Decision decide(const GpuPod& pod);
    /// What decide() would say; keeps nothing.
    Decision what_if(const GpuPod& pod);

    /// The nodes where it has no place now, those where least would have to end first; at most `most`.
    [[nodiscard]] std::vector<NearMiss> near_misses(const GpuPod& pod, std::size_t most) const;

    /// Keeps the node where least has to end for this pod, which waits: other pods of its priority or a lower one
    /// get no place there until keep_only_for() leaves it out. Nothing changes while one is kept for it already.
    /// Returns the node; empty: none would do.
    std::string keep_for(const GpuPod& pod);
    /// What is kept for others than these (GpuPod::holder) is free for all again.
    void keep_only_for(const std::set<std::string>& holders);

    /// What these pods of the gang ask for together.
    [[nodiscard]] GangAsk ask_of(const GangTurn& turn,
                                 const std::vector<const GpuPod*>& pods) const;
    /// A place for each of them, one node per pod, kept as by decide(); or for none.
    GangDecision decide_gang(const GangAsk& ask);
    /// What decide_gang() would say; keeps nothing. The pods have nothing that is kept for them.
    [[nodiscard]] GangDecision what_if_gang(const GangAsk& ask) const;
    /// fit_in_turn().
    std::vector<GangDecision> what_if_in_turn(const std::vector<GangAsk>& asks);
    /// preemption_for(); nobody is evicted by it.
    [[nodiscard]] std::optional<Preemption> preemption_for(const GpuPod& pod,
                                                           const PreemptionRules& rules) const;
    /// plan_defrag(); the books are left as the moves leave them.
    DefragPlan plan_defrag(const MoveRules& rules);
    [[nodiscard]] WhollyFree wholly_free() const;
    /// As replay() of moves.h.
    Replay replay(const MoveRules& rules, const std::vector<PlannedMove>& moves);
    /// Keeps this node, whatever keep_for() would choose.
    void keep_node(const GpuPod& pod, const std::string& node);
    /// As keep_for(), of as many nodes as the gang needs. Empty: none would do.
    std::set<std::string> keep_for_gang(const GangAsk& ask);
    /// The nodes where the first of its pods without a place has none, when those that fit are there.
    std::vector<NearMiss> gang_misses(const GangAsk& ask, const GangDecision& decision,
                                      std::size_t most);

    /// Whether a pod has targets that are kept for it.
    [[nodiscard]] bool is_assumed(const std::string& uid) const;
    [[nodiscard]] bool serves(const std::string& resource) const;
    /// How many pods of each of these owners (GpuPod::owner) have a place: bound, or kept for them.
    [[nodiscard]] std::map<std::string, std::size_t> placed_of(
        const std::set<std::string>& owners) const;
    /// As shape_of().
    [[nodiscard]] std::string shape(const GpuPod& pod) const;
    [[nodiscard]] std::vector<GpuBooking> gpus() const;
    /// Bookings that did not fit: what others did beside us.
    [[nodiscard]] std::uint64_t overbooked() const;
    /// Empty: bookings and engine agree; else what differs. For tests.
    [[nodiscard]] std::string self_check();

private:
    class State;
    std::unique_ptr<State> state_;
};

}  // namespace aliquot::scheduling
