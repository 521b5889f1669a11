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

    [[nodiscard]] std::string keeps_off(const ServedNode& node) const override;
    [[nodiscard]] NodeRank rank(const ServedNode& node) const override;

    /// Whether anything of this can matter for the pod; of others it is never asked.
    static bool matter(const GpuPod& pod, const Bookings& bookings);

private:
    using Place = std::pair<std::string, std::string>;  // topology key, value
    struct Wanted {
        std::string key;
        std::set<std::string> values;  // where the pods are that it wants beside it
        bool is_first =
            false;  // there are none, and it is such a pod itself: anywhere with the key
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

    const GpuPod& pod_;
    const Bookings& bookings_;
    std::vector<Wanted> wanted_;
    std::vector<Spread> spread_;
    std::map<Place, std::string> forbidden_;    // by whom
    std::map<std::string, std::string> ports_;  // node -> whose port
    std::map<Place, unsigned> may_conflict_;    // with pods that are only planned there
};

}  // namespace aliquot::scheduling
