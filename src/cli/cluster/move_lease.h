// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "cli/cluster/cluster_flags.h"

namespace aliquot::cli {

/// Who moves pods of the cluster now, and when pods were moved within the last hour: the Lease aliquot-moves, for all
/// runs on all machines. A write that another run came before is decided anew.
///   metadata.annotations["aliquot.dev/moves"]: ["2026-11-28T12:00:00Z", ...]
///   spec.holderIdentity, spec.renewTime, spec.leaseDurationSeconds
/// Not thread-safe.
class MoveLease {
public:
    using Time = std::chrono::system_clock::time_point;
    struct Options {
        std::string name_space = "aliquot-system";
        std::string identity;  // of this run
        std::function<Time()> now = std::chrono::system_clock::now;
    };

    MoveLease(kube_client::Api& api, const ClusterOptions& words, Options options)
        : api_(api), words_(words), options_(std::move(options)) {}

    /// When pods were moved within the last hour, oldest first; of a Lease that is not there yet: none.
    kube_client::Outcome<std::vector<Time>> moves();
    /// Nobody else moves pods for the next minute. Not empty: somebody else does, one line.
    kube_client::Outcome<std::string> hold();
    /// hold(), and one move more is counted. Not empty: `most` were made within the last hour; one line.
    kube_client::Outcome<std::string> spend(unsigned most);
    /// Others may move pods at once.
    void let_go();

private:
    struct State {
        std::vector<Time> moves;
        std::string holder;
        Time held_until;
    };
    using Edit = std::function<std::string(State& state)>;  // not empty: nothing is written
    static State read(const std::string& json, Time now);
    [[nodiscard]] std::string written(const std::string& json, const State& state) const;
    std::string take(State& state) const;
    kube_client::Outcome<std::string> change(const Edit& edit);

    kube_client::Api& api_;
    const ClusterOptions& words_;
    const Options options_;
};

/// "name@machine, process 4711".
std::string identity_of_this_run();

}  // namespace aliquot::cli
