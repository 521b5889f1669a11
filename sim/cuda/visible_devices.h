// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "sim/node/state.h"

/// Which devices a program sees, in which order.
namespace aliquot::sim {

struct VisibleDevice {
    unsigned slot = 0;  // place of its GPU in the node's state
    Instance where;
    friend bool operator==(const VisibleDevice&, const VisibleDevice&) = default;
};

/// What the environment says; a variable that is not set is empty, with `*_set` false.
struct DeviceChoice {
    std::string_view container;  // ALIQUOT_SIM_VISIBLE_DEVICES: what the container was given
    bool container_set = false;
    std::string_view chosen;  // CUDA_VISIBLE_DEVICES
    bool chosen_set = false;
    std::string_view order;  // CUDA_DEVICE_ORDER
};

/// The devices of a node for such an environment: those of the container that are no MIG parents,
/// of MIG only the first device (the driver gives one to a process unless its uuid is named), by PCI
/// bus where asked, else the faster first; CUDA_VISIBLE_DEVICES picks from them and orders them,
/// up to its first entry that means none.
std::vector<VisibleDevice> visible_devices(const State& state, const DeviceChoice& choice);

}  // namespace aliquot::sim
