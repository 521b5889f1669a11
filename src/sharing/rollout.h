// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <vector>

#include "gpu/inventory.h"
#include "sharing/served_devices.h"

/// How a new configuration replaces the one that is served: device by device, each when nobody
/// holds a part of it any more. Pure.
namespace aliquot::sharing {

/// A device id that a pod holds, or may hold.
struct DeviceHold {
    std::string resource;
    std::string id;       // "GPU-..", "GPU-..::2", "MIG-.."
    std::string pod;      // "ai/trainer"; empty: one that is only starting, or not known by name
    bool ending = false;  // it looks as if it had ended: it still counts, but needs no listing
    friend bool operator==(const DeviceHold&, const DeviceHold&) = default;
    friend auto operator<=>(const DeviceHold&, const DeviceHold&) = default;
};

/// What is known when a round is decided.
struct RolloutFacts {
    ServedDevices served;       // as kubelet was told last, or as an earlier agent has recorded it
    bool records_lost = false;  // of some devices it is not known how they were served
    std::vector<DeviceHold> holds;
    std::string holds_problem;      // why there may be more holds; empty: these are all
    std::string record_problem;     // why a change cannot be recorded now; empty: it can
    std::set<gpu::Uuid> withdrawn;  // devices of which kubelet gives nothing away any more
};

struct Rollout {
    Offer offer;
    ServedDevices served;                // the same by device: to be recorded before it is offered
    bool records_lost = false;           // to be recorded, too: something is still held of such
    std::vector<WaitingDevice> waiting;  // by index
    std::set<gpu::Uuid> closing;   // idle: they change when kubelet gives nothing of them away
    std::set<gpu::Uuid> switched;  // are served in another way from now on than `served` was

    [[nodiscard]] bool is_settled() const { return waiting.empty() && closing.empty(); }
};

/// Decides one round. A device is served as `wanted` says where it was so before, or where nobody
/// holds a part of it and kubelet has been told that nothing of it is to be had (one round of
/// `closing`). A device that is held stays as it is, and only what is held of it stays listed, so
/// that it becomes free. What is held of a device that is gone is listed as unhealthy. What is held,
/// but by no promise that is known, is listed as unhealthy, and nothing of that device is offered:
/// its limits are not known either. Shares that cannot be recorded are not offered. A GPU and the MIG devices on it are never offered together.
/// Amounts of limits that the guard keeps change at once, for holders too; a limit that was there
/// stays one.
Rollout roll_out(const Offer& wanted, const gpu::Inventory& inventory, const RolloutFacts& facts);

}  // namespace aliquot::sharing
