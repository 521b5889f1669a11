// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "telemetry/snapshot.h"

namespace aliquot::controller {

/// Which pods hold GPUs and leave them idle, by what the agents tell. What is not measured is not idle. Thread-safe.
class IdleSight {
public:
    using Steady = std::chrono::steady_clock;
    struct IdlePod {
        std::string space;
        std::string name;
        std::string uid;
        std::chrono::seconds idle{};
    };

    /// min_run   from the beginning of a pod: does not count
    explicit IdleSight(std::chrono::seconds min_run) : min_run_(min_run) {}

    /// What a node's agent tells now, in place of what it told before.
    void take(const telemetry::Snapshot& snapshot, Steady::time_point now);
    /// Those that have not used any of their GPUs for so long.
    [[nodiscard]] std::vector<IdlePod> idle_for(std::chrono::seconds least,
                                                Steady::time_point now) const;
    /// For how long none of these pods has used a GPU; nullopt: of one of them that is not known.
    [[nodiscard]] std::optional<std::chrono::seconds> idle_of(const std::set<std::string>& uids,
                                                              Steady::time_point now) const;

private:
    struct Use {
        IdlePod pod;
        bool is_known = true;
    };
    struct Node {
        Steady::time_point told;
        std::map<std::string, Use> pods;  // by uid
    };
    [[nodiscard]] bool is_fresh(const Node& node, Steady::time_point now) const;

    const std::chrono::seconds min_run_;
    mutable std::mutex mutex_;
    std::map<std::string, Node> nodes_;  // guarded by mutex_
};

}  // namespace aliquot::controller
