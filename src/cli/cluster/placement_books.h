// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/cluster/cluster_flags.h"
#include "scheduling/books.h"

namespace aliquot::cli {

/// Pods that ask for GPUs and nodes that agents of ours serve, at one moment, booked as the controller books them.
struct PlacementPicture {
    scheduling::Books books;
    std::map<std::string, scheduling::ServedNode> nodes;
    std::vector<scheduling::GpuPod> pods;  // that have not ended, in the order of the queue
};

/// One request for each 500 nodes and each 500 pods. Empty: it was said why, and the exit code is set.
std::optional<PlacementPicture> read_placement(Context& context, kube_client::Api& api,
                                               const ClusterOptions& words);

/// "45s", "12m", "3h", "9d" since a time of RFC 3339; "": no such time.
std::string age_of(const std::string& created, std::chrono::system_clock::time_point now);

/// "4 nvidia.com/gpu, 1 example.com/nic".
std::string asked_text(const scheduling::GpuPod& pod);

/// "GPU-1 x2, GPU-2" of one target.
std::string units_text(const scheduling::DeviceUnits& units);

/// Prints a document of `-o json` or `-o yaml`.
void print_json(Context& context, const std::string& format, const nlohmann::ordered_json& what);

}  // namespace aliquot::cli
