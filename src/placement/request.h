// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "placement/cluster.h"

namespace aliquot::placement {

/// What one workload (a pod) asks for. Exactly one of the GPU forms is used:
///   no GPU        gpus = 0, mig_profile empty
///   whole GPUs    gpus = 1..16, milli = 1000
///   a share       gpus = 1, milli = 1..999 and/or mib > 0 (milli 0: by memory alone)
///   MIG           gpus = 1, mig_profile = "1g.5gb"
struct Request {
    std::int32_t cpu_milli = 0;
    std::int32_t memory_mib = 0;
    std::uint8_t gpus = 0;
    std::int32_t milli = 0;  // compute per GPU
    std::int32_t mib = 0;    // GPU memory per GPU; 0: none asked, none counted. A whole GPU has all
    std::string mig_profile;
    std::vector<std::string> models;                            // any of these; empty: every model
    std::vector<std::pair<std::string, std::string>> selector;  // node labels, all of them
    std::vector<std::pair<std::string, std::string>> tolerations;  // key, value ("*": any value)
    std::string anti_affinity;  // no two live requests with the same word share a node; empty: none
    bool movable = false;       // the migration planner may move it

    [[nodiscard]] bool is_share() const {
        return gpus == 1 && milli < kWholeGpu && mig_profile.empty();
    }
    [[nodiscard]] std::int32_t gpu_milli() const { return gpus * milli; }
    friend bool operator==(const Request&, const Request&) = default;
};

/// The request, or kInvalidInput with what is wrong: "gpus is 3 with 460 milli: a share is of one GPU".
Result<Request> checked(Request request);

}  // namespace aliquot::placement
