// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "scheduling/decision.h"
#include "scheduling/gpu_pod.h"
#include "scheduling/pools.h"

namespace aliquot::scheduling {

/// Whether cordon, readiness, labels, affinity and taints let the pod on the node; empty: they do, else why not.
std::string keeps_off(const GpuPod& pod, const ServedNode& node);

/// GPUs of this node for all that the pod asks, as the agent would choose them: shares on GPUs that are in use
/// before others; of several for one container each on another GPU, by MPS all on one; whole GPUs from the
/// first. CPU and memory are not looked at. Empty: they are not free.
std::optional<DeviceUnits> fit_on(const GpuPod& pod, const ServedNode& node, const Pools& pools);

/// The same as if `returned` were free, too.
std::optional<DeviceUnits> fit_on(const GpuPod& pod, const ServedNode& node, const Pools& pools,
                                  const DeviceUnits& returned);

/// What the node lacks of devices for the pod: "has 3 of 8 nvidia.com/gpu free, 4 are asked".
std::string lacks(const GpuPod& pod, const ServedNode& node, const Pools& pools);

/// The same on a node that nobody uses.
bool fits_when_empty(const GpuPod& pod, const ServedNode& node);

/// Why no node takes it now, in one line: how many nodes fail at what, and the nearest.
std::string why_nowhere(const GpuPod& pod, const std::map<std::string, ServedNode>& nodes,
                        const Pools& pools);

}  // namespace aliquot::scheduling
