// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "agent/settings.h"
#include "gpu/inventory.h"
#include "labels/labels.h"
#include "os/root.h"
#include "sharing/offer.h"

namespace aliquot::agent {

/// What the node says of its GPUs by labels: NVIDIA's, and those of the profiles. Empty without
/// GPUs.
labels::Labels node_labels(const os::Root& root, const Settings& settings,
                           const sharing::Offer& offer, const gpu::Inventory& inventory,
                           const std::vector<labels::Profile>& profiles);

}  // namespace aliquot::agent
