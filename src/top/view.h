// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "top/cluster_snapshot.h"
#include "top/filter.h"
#include "top/history.h"
#include "top/table.h"

namespace aliquot::top {

enum class Kind : std::uint8_t { kNodes, kGpus, kPods, kProcesses, kTree, kWaste, kErrors };
/// "nodes", "gpus", "pods", "processes", "tree", "waste", "errors".
std::string_view to_text(Kind kind);
std::optional<Kind> parse_kind(std::string_view text);
std::vector<std::string_view> kind_names();

/// What of the cluster is looked at, by the keys of history.h; an empty one: all.
struct Scope {
    std::string node;
    std::string gpu;
    std::string tenant;
    std::string title;  // "GPU 0 of gpu-node-1"
};

/// Rows of what belongs to no tenant, so that all adds up.
enum class Remainders : std::uint8_t { kHidden, kShown };

/// A question to the cluster.
struct View {
    Kind kind = Kind::kPods;
    Scope scope;
    Filter filter;
    std::optional<Sort> sort;  // empty: what the kind is usually sorted by
    bool reverse = false;
    bool idle_only = false;
    Remainders remainders = Remainders::kHidden;
};

/// What the view is sorted by when nothing else was asked for.
Sort usual_sort(Kind kind);

/// The rows that the view asks for, sorted. Under a tree each GPU's pods are sorted among
/// themselves and a row stays when one below it does.
Table table_of(const ClusterSnapshot& cluster, const History& history, const View& view);

}  // namespace aliquot::top
