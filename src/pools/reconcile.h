// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "pools/desired.h"
#include "pools/observe.h"
#include "pools/outputs.h"
#include "pools/problem.h"

namespace aliquot::pools {

/// An object that a pool had written, by which it is found again.
struct OutputName {
    std::string api_version;
    std::string kind;
    std::string name;
    friend auto operator<=>(const OutputName&, const OutputName&) = default;
};

/// The annotations of a node that are ours. All of them: what is missing is to be taken away.
struct NodeMarks {
    std::string node;
    std::string uid;
    std::map<std::string, std::string> annotations;
};

/// A node that has passed its gates and has the startup taint still.
struct StartedNode {
    std::string node;
    std::string resource_version;         // the taints below are those of this one
    std::vector<document::Value> taints;  // that stay
};

/// What one look at a pool comes to: what should be written, and why.
struct Round {
    Pool pool;
    std::vector<Problem> problems;  // of its spec; with an error nothing below is to be done
    bool is_valid = false;
    Observed observed;
    ScheduleLook schedule;
    Desired desired;
    std::vector<document::Value> objects;  // to be applied
    std::vector<std::string> remarks;
    std::vector<OutputName> obsolete;  // the last look wrote them, this one does not want them
    std::vector<NodeMarks> marks;      // of nodes that have others
    std::vector<StartedNode> started;  // lose the startup taint
    std::set<std::string> served;      // waiting pods that this pool has or makes room for
};

/// nodes, pods   of the whole cluster, as observe() takes them
/// taken         waiting pods that other pools make room for
Round look_at_pool(const document::Value& object, const std::vector<document::Value>& nodes,
                   const std::vector<document::Value>& pods, const std::set<std::string>& taken,
                   Instant now);

/// What was done of it.
struct Carried {
    std::vector<std::string>
        problems;  // writes that the API server, or another owner of a field, refused
    std::vector<OutputName> written;
};

/// The pool's status: numbers, reasons, conditions Valid and Applied, what has to be remembered.
/// before   the status as it is, for times of conditions that stay
document::Value status_of(const Round& round, const Carried& carried, const document::Value& object,
                          Instant now);

/// Whether it is worth a write: all but the moment of the look is compared, and that is written every ten minutes.
bool is_news(const document::Value& before, const document::Value& status, Instant now);

/// Nodes that carry our marks and belong to no pool any more: they lose them.
/// members   names of the nodes of all pools
std::vector<NodeMarks> stray_marks(const std::vector<document::Value>& nodes,
                                   const std::set<std::string>& members);

inline constexpr std::string_view kKeptBy = "aliquot.dev/kept-by";  // the pool
/// Cluster Autoscaler's: it lets no node with "true" go.
inline constexpr std::string_view kScaleDownDisabled =
    "cluster-autoscaler.kubernetes.io/scale-down-disabled";

/// A node that kubelet registers with it counts as starting to Cluster Autoscaler, which else buys another one while the
/// device plugin is late. It is taken away when the gates are passed.
inline constexpr std::string_view kStartupTaint =
    "startup-taint.cluster-autoscaler.kubernetes.io/aliquot";

}  // namespace aliquot::pools
