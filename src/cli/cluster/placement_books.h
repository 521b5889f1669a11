// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/cluster/cluster_flags.h"
#include "scheduling/books.h"
#include "scheduling/gangs.h"

namespace aliquot::cli {

/// Pods that ask for GPUs and nodes that agents of ours serve, at one moment, booked as the controller books them.
struct PlacementPicture {
    explicit PlacementPicture(kube_client::Api& api);
    scheduling::Books books;
    scheduling::Gangs gangs;
    std::map<std::string, scheduling::ServedNode> nodes;
    std::vector<scheduling::GpuPod> pods;  // that have not ended, in the order of the queue
    bool knows_volumes = true;             // false: they may not be read, and count as none
};

/// The gang of a gated pod, as the controller sees it.
struct GangPicture {
    scheduling::GangTurn turn;
    scheduling::GangDecision decision;  // of turn.ask
    std::vector<scheduling::NearMiss> misses;

    [[nodiscard]] bool has_room() const {
        return decision.kind == scheduling::Decision::Kind::kPlaced;
    }
    /// "gang team/train: 2 of its 4 pods exist".
    [[nodiscard]] std::string why() const;
};

/// misses   nodes to tell of
/// Empty: the pod goes alone. What the picture points to holds until it is told of other pods.
std::optional<GangPicture> gang_of(PlacementPicture& picture, const scheduling::GpuPod& pod,
                                   std::size_t misses);

/// One request for each 500 nodes and each 500 pods; one more for each gang that waits. Empty: it was said why, and the exit code is set.
enum class VolumesOf : std::uint8_t { kWaiting, kWaitingAndBound };
std::optional<PlacementPicture> read_placement(Context& context, kube_client::Api& api,
                                               const ClusterOptions& words,
                                               VolumesOf of = VolumesOf::kWaiting);

/// "45s", "12m", "3h", "9d" since a time of RFC 3339; "": no such time.
std::string age_of(const std::string& created, std::chrono::system_clock::time_point now);

/// "GPU-1 x2, GPU-2" of one target.
std::string units_text(const scheduling::DeviceUnits& units);

}  // namespace aliquot::cli
