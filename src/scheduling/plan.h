// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scheduling/decision.h"
#include "scheduling/gpu_pod.h"

namespace aliquot::scheduling {

/// What was decided of a pod, as the annotation aliquot.dev/plan has it:
///   {"v":1,"gen":7,"ask":[{"container":"main","resource":"nvidia.com/gpu.shared","count":1}],
///    "nodes":[{"node":"node-a","units":{"nvidia.com/gpu.shared":{"GPU-1":1}}}]}; best first
struct Plan {
    std::uint64_t generation = 0;  // grows with every leader and decision
    std::vector<DeviceRequest> asked;
    std::vector<Target> targets;
    friend bool operator==(const Plan&, const Plan&) = default;
};

std::string to_json(const Plan& plan);
/// Any bytes; at most kMostTargets nodes. Empty: it is no such text, or of a newer version.
std::optional<Plan> parse_plan(std::string_view json);

inline constexpr std::size_t kMostTargets = 64;

}  // namespace aliquot::scheduling
