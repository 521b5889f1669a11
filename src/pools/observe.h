// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "pools/demand.h"

namespace aliquot::pools {

/// What a cluster shows of one pool.
struct Observed {
    std::vector<PoolNode> nodes;
    std::vector<Claim> waiting;  // pods that no node has room for, and that the pool may take
};

/// Whether a node belongs to the pool: by the pool's selector, else by the label aliquot.dev/pool.
bool is_member(const Pool& pool, const k8s::Node& node);

/// nodes, pods   Node and Pod objects of the whole cluster; finished pods and placeholders count nowhere. A pod waits
/// when it has no node and its condition PodScheduled says Unschedulable. A node is empty since the last of its pods
/// was seen there, of which objects tell nothing: since it was made, unless its annotation aliquot.dev/empty-since says.
Observed observe(const Pool& pool, const std::vector<document::Value>& nodes,
                 const std::vector<document::Value>& pods, Instant now);

inline constexpr std::string_view kEmptySince = "aliquot.dev/empty-since";
inline constexpr std::string_view kPlaceholderLabel = "aliquot.dev/placeholder";

}  // namespace aliquot::pools
