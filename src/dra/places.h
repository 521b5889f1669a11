// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dra/device.h"
#include "gpu/inventory.h"
#include "os/root.h"

namespace aliquot::dra {

/// What sysfs tells of where GPUs are; what it does not tell is left out.
PlaceFacts read_places(const os::Root& root, const gpu::Inventory& inventory);

}  // namespace aliquot::dra
