// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "k8s/label_selector.h"
#include "k8s/node_selector.h"

namespace aliquot::k8s {

/// One term of required pod affinity or anti-affinity: pods that it selects, and the node label by whose value
/// two nodes are one place.
/// source   k8s.io/api/core/v1, PodAffinityTerm
struct PodTerm {
    std::optional<LabelSelector> selector;  // empty: selects no pod
    std::string topology_key;
    std::set<std::string> namespaces;
    bool any_namespace = false;  // a namespaceSelector, which is not looked at further

    /// own   the namespace of the pod whose term this is; it is meant where the term names none
    [[nodiscard]] bool selects(const std::string& own, const std::string& name_space,
                               const Labels& labels) const;
};

/// One of topologySpreadConstraints.
struct SpreadConstraint {
    std::optional<LabelSelector> selector;
    std::string topology_key;
    unsigned max_skew = 1;
    bool is_required = true;  // DoNotSchedule
};

/// A port of the node that a container takes.
struct HostPort {
    std::string address;  // empty, 0.0.0.0 and ::  every address
    std::string protocol = "TCP";
    std::uint16_t port = 0;
    friend auto operator<=>(const HostPort&, const HostPort&) = default;
};
bool collide(const HostPort& a, const HostPort& b);

/// One of preferredDuringSchedulingIgnoredDuringExecution of node affinity.
struct NodePreference {
    int weight = 0;  // 1 to 100
    NodeSelectorTerm term;
};

/// What a pod says of other pods, of ports and of nodes that it would rather have.
struct PodAffinity {
    std::vector<PodTerm> with;     // required pod affinity
    std::vector<PodTerm> without;  // required pod anti-affinity
    std::vector<SpreadConstraint> spread;
    std::vector<HostPort> ports;
    std::vector<NodePreference> preferred;

    [[nodiscard]] bool empty() const {
        return with.empty() && without.empty() && spread.empty() && ports.empty() &&
               preferred.empty();
    }
};

/// Of a pod's `spec`; what is missing or of another kind stays empty. At most 64 of each.
PodAffinity read_pod_affinity(const document::Value& pod_spec);

}  // namespace aliquot::k8s
