// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "pools/demand.h"
#include "pools/notice.h"

namespace aliquot::pools {

/// A pod on a node that will go: it is told to end, which is its signal to save, so long before that.
struct LeavingPod {
    std::string name_space;
    std::string name;
    std::chrono::seconds grace{30};  // its terminationGracePeriodSeconds
};

/// A node that will go, and the pods on it that hold devices or shares.
struct Leaving {
    std::string node;
    std::string uid;
    Notice notice;
    std::vector<LeavingPod> pods;

    /// Those whose time to save has come.
    [[nodiscard]] std::vector<LeavingPod> to_end(Instant now) const;
};

/// What a cluster shows of one pool.
struct Observed {
    std::vector<PoolNode> nodes;
    std::vector<Claim> waiting;  // pods that no node has room for, and that the pool may take
    std::vector<Leaving> leaving;
};

/// Whether a node belongs to the pool: by the pool's selector, else by the label aliquot.dev/pool.
bool is_member(const Pool& pool, const k8s::Node& node);

/// nodes, pods   Node and Pod objects of the whole cluster; finished pods and placeholders count nowhere. A pod waits
/// when it has no node, and its condition PodScheduled says Unschedulable or its only scheduling gate is ours. A node is empty
/// since its annotation aliquot.dev/empty-since says so, which objects alone do not tell; without it since now.
Observed observe(const Pool& pool, const std::vector<document::Value>& nodes,
                 const std::vector<document::Value>& pods, Instant now);

/// Pods without those that only we keep from a node, and that `held` has a reason for: a node would not help them.
/// held   why pods of a namespace may not start; empty: they may
std::vector<document::Value> without_held(
    std::vector<document::Value> pods,
    const std::function<std::string(const std::string& name_space)>& held);

inline constexpr std::string_view kEmptySince = "aliquot.dev/empty-since";
inline constexpr std::string_view kPlaceholderLabel = "aliquot.dev/placeholder";

}  // namespace aliquot::pools
