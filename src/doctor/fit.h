// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "doctor/check.h"

namespace aliquot::doctor {

/// What is said of a node whose condition Ready is not True.
inline constexpr std::string_view kNodeNotReady = "the node is not ready";

/// Why one node does not take a pod; empty misses: it would.
struct NodeFit {
    enum class Miss : std::uint8_t { kTaint, kLabel, kNotReady, kOther, kGpu };
    struct Reason {
        Miss miss = Miss::kOther;
        std::string text;      // "taint nvidia.com/gpu=present:NoSchedule is not tolerated"
        std::string remedy;    // what would make it fit; may be empty
        std::string resource;  // of kOther and kGpu; of a taint or label its key
        std::string wished;    // of a label: the value that the pod asks for
        std::string has;       // of a label: the node's value; empty: it has none
    };
    const Object* node = nullptr;
    bool offers_gpus = false;  // as many of every GPU resource as the pod asks for, were all free
    bool has_gpus = false;     // the same in its capacity: ill ones count
    std::vector<Reason> reasons;

    [[nodiscard]] bool misses(Miss miss) const;
    /// Taints, labels and the node's state let the pod in; resources may be short.
    [[nodiscard]] bool lets_in() const;
};

/// The scheduler's filters, worked out again for every node: taints, nodeSelector and required node
/// affinity, readiness, and every resource against what other pods hold.
std::vector<NodeFit> fit(const Facts& facts, const Object& pod);

/// Where no node that lets the pod in offers its GPUs: the GPU nodes that let it in and that it was meant
/// for, by a label that it asks for or a taint that it tolerates. Else none. `nodes`: of fit().
std::vector<const Object*> meant_nodes(const std::vector<NodeFit>& nodes, const Object& pod);

/// The cause why a pod is Pending, as the id of the SCH check that tells it, with its verdict; empty
/// id: none found.
struct PendingCause {
    std::string id;
    Verdict verdict;
};
PendingCause why_pending(const Facts& facts, const Object& pod);

/// Pods without a node that belong to the target, at most 50.
std::vector<const Object*> pending_pods(const Facts& facts);

}  // namespace aliquot::doctor
