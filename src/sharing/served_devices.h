// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "gpu/inventory.h"
#include "sharing/offer.h"

namespace aliquot::sharing {

/// How a device is served, which is what its holders were promised.
struct ServedDevice {
    Resource resource;  // without its devices
    OfferedGpu device;
};
/// By uuid of the GPU or MIG device.
using ServedDevices = std::map<gpu::Uuid, ServedDevice>;

/// What `served` would be if the offer were told to kubelet as it is.
ServedDevices served_by(const Offer& offer);
/// The offer that serves each device which is still there as it was served: where no configuration
/// can be read, nothing else is known to be safe.
Offer as_served(const ServedDevices& served, const gpu::Inventory& inventory);

/// Whether those who hold parts of a device keep what they were given when it is offered so.
bool keeps_promises(const ServedDevice& served, const std::string& resource,
                    const OfferedGpu& offered);

/// Whether both are the same for kubelet and for new containers; health does not count.
bool is_same_service(const ServedDevices& before, const ServedDevices& now);

/// "nvidia.com/gpu, 4 shares of 16Gi".
std::string to_text(const ServedDevice& served);

/// A device that is not served as it is configured, since pods hold parts of it.
struct WaitingDevice {
    gpu::Uuid uuid;
    unsigned gpu_index = 0;
    std::string index;              // "0", of a MIG device "0:1"
    std::string served;             // "nvidia.com/gpu, 4 shares of 16Gi"; empty: as nothing
    std::vector<std::string> pods;  // that hold it, sorted, each once; "" is left out
    std::string why;                // where it is not only these pods
    friend bool operator==(const WaitingDevice&, const WaitingDevice&) = default;
};
/// One line for people: "GPU 0 stays nvidia.com/gpu, 4 shares of 16Gi, until ai/a and ai/b end".
std::string to_text(const WaitingDevice& waiting);

}  // namespace aliquot::sharing
