// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "placement/workload.h"
#include "scheduling/decision.h"
#include "scheduling/gpu_pod.h"
#include "scheduling/pools.h"

namespace aliquot::scheduling {

/// Who has what: every pod that is bound or planned, with its part of each pool. What is bound comes first: what
/// is only planned gives way to it and looks for other GPUs of the same nodes. What an agent has told comes before
/// what a bound pod is thought to have. A bound pod counts though no room seems left for it: as soon as there is
/// some, it is booked. Not thread-safe.
class Bookings {
public:
    void set_node(ServedNode node);
    void remove_node(const std::string& name);
    void set_pod(const GpuPod& pod);
    void remove_pod(const std::string& uid);
    void forget(const std::string& uid);
    /// As Books::bind(), take_back() and judge() of one node.
    Seat bind(const GpuPod& pod, const std::string& node);
    void take_back(const std::string& uid);
    [[nodiscard]] NodeVerdict judge(const GpuPod& pod, const std::string& node) const;
    /// Keeps `targets` for a pod that is not bound and has none.
    void plan(const GpuPod& pod, const std::vector<Target>& targets);
    /// As Books::keep_for() and keep_only_for().
    void keep_nodes(const std::set<std::string>& names, const ServedNode::Keeping& keeping);
    void keep_only_for(const std::set<std::string>& holders);
    /// Which tasks are to be expected; holds for later engines, too.
    void expect(std::vector<placement::TaskType> workload);

    [[nodiscard]] const std::map<std::string, ServedNode>& nodes() const { return nodes_; }
    [[nodiscard]] Pools& pools() { return pools_; }
    [[nodiscard]] const Pools& pools() const { return pools_; }
    [[nodiscard]] bool is_planned(const std::string& uid) const;
    /// The first node that is planned for a pod; empty: none is.
    [[nodiscard]] std::string node_planned_for(const std::string& uid) const;
    [[nodiscard]] std::uint64_t overbooked() const { return overbooked_; }
    /// What one pod has, or is to have, of a node.
    struct Held {
        std::string pod;    // NAMESPACE/NAME
        std::string claim;  // key of the gang that it claims
        std::int32_t priority = 0;
        DeviceUnits units;
    };
    [[nodiscard]] std::vector<Held> held_on(const std::string& node) const;
    /// A pod that is bound to a node, with what it has; until the next change.
    struct Holder {
        const GpuPod* pod = nullptr;
        const DeviceUnits* units = nullptr;
    };
    [[nodiscard]] std::map<std::string, std::vector<Holder>> holders() const;  // by node
    /// Without a pod: it is not bound, or not known.
    [[nodiscard]] Holder holder_of(const std::string& uid) const;
    [[nodiscard]] std::string self_check();

    /// The labels of any node of the cluster: what pods say of each other goes by them.
    void set_labels(const std::string& node, k8s::Labels labels);
    void remove_labels(const std::string& node) { labels_.erase(node); }
    /// nullptr: it is not known
    [[nodiscard]] const k8s::Labels* labels_of(const std::string& node) const;
    /// All pods that are bound or planned, with where they are or may come to be.
    void visit(const std::function<void(const GpuPod&, const std::vector<Target>&)>& look) const;
    /// Whether any of them has anti-affinity to other pods.
    [[nodiscard]] bool has_pods_apart() const { return !apart_.empty(); }

private:
    struct Booking {
        std::size_t pool = 0;
        placement::PlacementId id = 0;
    };
    struct Entry {
        GpuPod pod;
        std::vector<Target> targets;  // of a bound one: where it is
        std::vector<Booking> bookings;
        bool is_seated = false;  // by bind(); whether it is bound so has not been seen yet

        [[nodiscard]] bool is_bound() const { return !pod.node.empty(); }
    };

    void rebuild();
    [[nodiscard]] GpuPod asked_of(const GpuPod& pod, const std::string& node) const;
    [[nodiscard]] bool are_free(const Target& target) const;
    [[nodiscard]] DeviceUnits planned_on(const std::string& node, const Entry& but) const;
    [[nodiscard]] std::optional<DeviceUnits> seat_for(const Entry& entry, const GpuPod& asked,
                                                      const ServedNode& node) const;
    void release(Entry& entry);
    void book(Entry& entry);
    void book_at(Entry& entry, Target& target);
    bool take(Entry& entry, std::size_t pool, placement::Request request,
              std::vector<std::uint8_t> devices);
    bool take_units(Entry& entry, const std::string& node, const std::string& resource,
                    const std::map<std::string, unsigned>& gpus, std::set<std::size_t>& touched);
    bool take_all(Entry& entry, const Target& target, std::set<std::size_t>& touched);
    bool push_planned_off(const Entry& by, const std::string& node);
    std::vector<Entry*> push_untold_off(const Entry& by, const Target& target);
    void seat_again();
    void settle(std::vector<Entry*> entries);
    void settle_bound(Entry& entry);
    /// Whether an agent has told what the pod got.
    [[nodiscard]] bool is_told(const Entry& entry) const;
    [[nodiscard]] DeviceUnits units_of_bound(const Entry& entry) const;

    std::map<std::string, ServedNode> nodes_;
    std::map<std::string, Entry> entries_;  // by uid
    std::set<std::string> apart_;           // uids of those with anti-affinity
    std::set<std::string>
        unseated_;  // uids of bound ones that are not booked whole: no room for them
    std::set<std::string> gave_way_;             // uids of planned ones that are booked nowhere
    std::map<std::string, k8s::Labels> labels_;  // by node
    Pools pools_;
    std::vector<placement::TaskType> workload_;
    std::uint64_t overbooked_ = 0;
};

}  // namespace aliquot::scheduling
