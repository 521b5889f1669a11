// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "scheduling/gpu_pod.h"
#include "scheduling/node_rules.h"
#include "scheduling/served_node.h"

namespace aliquot::scheduling {

class Bookings;

/// What other pods and preferences mean for one pod: required affinity and anti-affinity between pods (its own, and
/// what others say of it), ports of the node, topology spread, preferred nodes. kube-scheduler judges all of that in
/// the end; here it keeps the few nodes that a pod is let go to among those that will do. What is only planned for
/// other pods keeps nothing off, but makes a node less good. A view of the bookings as they are; valid until they
/// change.
class Neighbours final : public NodeRules {
public:
    Neighbours(const GpuPod& pod, const Bookings& bookings);

    /// Pods of the bookings that are taken to have gone.
    using Gone = std::set<const GpuPod*>;

    [[nodiscard]] std::string keeps_off(const ServedNode& node) const override {
        return keeps_off(node, {});
    }
    [[nodiscard]] std::string keeps_off(const ServedNode& node, const Gone& gone) const;
    /// Whether kube-scheduler would let the pod in, were those gone: no rule keeps it off, and it stays within the
    /// required spread.
    [[nodiscard]] bool lets_in(const ServedNode& node, const Gone& gone) const;
    [[nodiscard]] NodeRank rank(const ServedNode& node) const override;

    /// Whether anything of this can matter for the pod; of others it is never asked.
    static bool matter(const GpuPod& pod, const Bookings& bookings);

private:
    using Place = std::pair<std::string, std::string>;  // topology key, value
    using Pods = std::vector<const GpuPod*>;
    using PodsByValue = std::map<std::string, Pods>;  // of a node label
    struct Wanted {
        std::string key;
        PodsByValue pods;          // that it wants beside it
        bool is_such_pod = false;  // itself: where there is none it may go anywhere with the key
    };
    struct Spread {
        std::string key;
        unsigned max_skew = 1;
        bool is_required = true;
        std::map<std::string, unsigned> pods;  // by value
        unsigned least = 0;
    };
    struct Other;

    void look_at(const Other& other);
    void look_at_terms(const Other& other);
    void count(const Other& other);
    void add_least();
    [[nodiscard]] bool breaks_spread(const ServedNode& node, std::size_t index,
                                     const Gone& gone) const;

    const GpuPod& pod_;
    const Bookings& bookings_;
    std::vector<Wanted> wanted_;
    std::vector<Spread> spread_;
    std::map<std::string, PodsByValue> forbidden_;  // by topology key: by whom
    std::map<std::string, Pods> ports_;             // node -> who has a port that it asks for
    std::map<Place, unsigned> may_conflict_;        // with pods that are only planned there
};

}  // namespace aliquot::scheduling
