// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "dra/device.h"
#include "dra/prepare.h"

namespace aliquot::dra {

/// What of a node's devices is published.
struct Publishable {
    std::vector<Device> devices;  // in their order
    std::map<std::string, std::string>
        held_back;  // name of a device: why it would be refused at Prepare
};

/// kube-scheduler knows what claims hold by the name of a device, and nothing of what is in the way by another name:
/// claims of another mode or of shares of other sizes, claims whose note is lost, shares that are more together than
/// the GPU. What it could give away and Prepare would refuse is held back until that has ended. What a claim holds by
/// its own name stays. What is held of a GPU that claims cut kube-scheduler knows by the counters of what it publishes,
/// too. What needs another MIG mode is held back while claims hold GPUs that would be reset along. Pure.
Publishable publishable(const std::vector<Device>& devices, const PreparedClaims& prepared);

}  // namespace aliquot::dra
