// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "gpu/inventory.h"
#include "mig/config.h"
#include "mig/geometry.h"
#include "os/root.h"

namespace aliquot::mig {

/// A node's GPUs as a configuration sees them; sysfs tells the subsystem.
std::vector<Board> boards_of(const os::Root& root, const gpu::Inventory& inventory);

/// What the tables that ship with the product say of this GPU; empty: they do not know it.
std::optional<Geometry> known_geometry(const gpu::Gpu& gpu);

}  // namespace aliquot::mig
