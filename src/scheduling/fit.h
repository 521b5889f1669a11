// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "scheduling/decision.h"
#include "scheduling/gpu_pod.h"
#include "scheduling/pools.h"
#include "scheduling/room.h"

namespace aliquot::scheduling {

/// Whether cordon, readiness, labels, affinity and taints let the pod on the node; empty: they do, else why not.
std::string keeps_off(const GpuPod& pod, const ServedNode& node);

/// A taint of a state that ends by itself: not ready, pressure, cordoned, ill.
bool ends_by_itself(const k8s::Taint& taint);

/// GPUs of this node for all that the pod asks, as the agent would choose them (Room). CPU and memory are not
/// looked at. Empty: they are not free.
std::optional<DeviceUnits> fit_on(const GpuPod& pod, const ServedNode& node, const Pools& pools);

/// The same as if `returned` were free, too.
std::optional<DeviceUnits> fit_on(const GpuPod& pod, const ServedNode& node, const Pools& pools,
                                  const DeviceUnits& returned);

/// What the pod prefers, if it can have just that.
std::optional<Target> fit_wish(const GpuPod& pod, const std::map<std::string, ServedNode>& nodes,
                               const Pools& pools);

/// What the node lacks of devices for the pod: "has 3 of 8 nvidia.com/gpu free, 4 are asked".
std::string lacks(const GpuPod& pod, const ServedNode& node, const Pools& pools);

/// The same on a node that nobody uses.
bool fits_when_empty(const GpuPod& pod, const ServedNode& node);

/// Why no node takes it now, in one line: how many nodes fail at what, and the nearest.
std::string why_nowhere(const GpuPod& pod, const std::map<std::string, ServedNode>& nodes,
                        const Pools& pools);
/// The same with what `room_of` says to be left of a node.
std::string why_nowhere(const GpuPod& pod, const std::map<std::string, ServedNode>& nodes,
                        const std::function<Room(const ServedNode&)>& room_of);

}  // namespace aliquot::scheduling
