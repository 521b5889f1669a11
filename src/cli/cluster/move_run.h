// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "cli/cluster/cluster_flags.h"
#include "cli/cluster/move_lease.h"
#include "cli/cluster/placement_books.h"
#include "scheduling/defrag.h"

namespace aliquot::cli {

/// What a person allows of moves.
struct MoveLimits {
    unsigned most_moves = 10;  // of one run
    unsigned per_hour = 20;    // of all runs
    std::int32_t most_priority = 0;
    std::chrono::seconds least_run{600};
    std::chrono::seconds patience{300};  // for one pod to come back
};

/// The cluster as it is, and who may be moved. Empty: it was said why not, and the exit code is set.
struct MovePicture {
    PlacementPicture placement;
    scheduling::MoveRules rules;
};
std::optional<MovePicture> read_moves(Context& context, kube_client::Api& api,
                                      const ClusterOptions& words, const MoveLimits& limits);

/// A pod that was moved.
struct DoneMove {
    std::string pod;   // NAMESPACE/NAME
    std::string next;  // that came in its place
    scheduling::Target at;
    std::chrono::seconds took{0};
};

/// Carries out a plan, one pod after the other: each is evicted when the one before has come back where it was meant
/// to be. It ends at the first that may not go, does not come back in time or comes back elsewhere.
class MoveRun {
public:
    MoveRun(Context& context, kube_client::Api& api, const ClusterOptions& words,
            const MoveLimits& limits, MoveLease& lease)
        : context_(context), api_(api), words_(words), limits_(limits), lease_(lease) {}

    /// Why it ended before its end, one line; empty: all were moved. Of a request that failed the exit code is set.
    std::string carry_out(const scheduling::DefragPlan& plan);
    [[nodiscard]] const std::vector<DoneMove>& done() const { return done_; }

private:
    using Steady = std::chrono::steady_clock;
    struct Owned {
        scheduling::GpuPod pod;
        std::string phase;
    };
    std::string still_holds(const scheduling::DefragPlan& plan, std::size_t index);
    std::string move(const scheduling::PlannedMove& move);
    std::string evict(const scheduling::PlannedMove& move);
    std::string wait_for(const scheduling::PlannedMove& move, const std::vector<Owned>& before);
    std::optional<std::vector<Owned>> pods_of_owner(const scheduling::GpuPod& pod);
    bool note(const scheduling::GpuPod& pod, const std::string& text);

    Context& context_;
    kube_client::Api& api_;
    const ClusterOptions& words_;
    const MoveLimits& limits_;
    MoveLease& lease_;
    std::vector<DoneMove> done_;
};

}  // namespace aliquot::cli
