// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cli/cluster/cluster_flags.h"
#include "plan/undo.h"

/// The Deployments that a plan moved to a GPU, and their way back to what they asked for before.
namespace aliquot::cli {

/// One of them, as the cluster has it.
struct WorkloadWay {
    enum class Kind : std::uint8_t {
        kNothing,  // it asks for no GPU any more, or there is none of that name
        kPatch,    // `patch` takes it back
        kLeft,     // a Job: its template cannot be changed, and its pod keeps its GPU until it ends
        kRefused,  // changed by hand, or its pods would lose their GPU before others run
    };
    Kind kind = Kind::kNothing;
    std::string why;    // one line
    std::string patch;  // RFC 6902, with tests of what it takes away
};

/// deployment   its JSON; empty: there is none
WorkloadWay way_of(const plan::MovedWorkload& workload, const std::string& deployment);

class PlanWorkloads {
public:
    explicit PlanWorkloads(std::vector<plan::MovedWorkload> workloads)
        : workloads_(std::move(workloads)) {}

    /// Reads all of them. What refuses is said, with exit code 1. False: the cluster cannot be asked,
    /// which was said.
    bool look(Context& context, const ClusterOptions& words);

    /// Takes back what look() found; says each. False: a write failed, which was said.
    bool undo(Context& context, const ClusterOptions& words, bool dry_run);

private:
    std::vector<plan::MovedWorkload> workloads_;
    std::vector<WorkloadWay> ways_;  // one for each
    std::optional<kube_client::Connection> connection_;
};

}  // namespace aliquot::cli
