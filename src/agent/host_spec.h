// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "agent/settings.h"
#include "cdi/spec.h"
#include "gpu/inventory.h"
#include "os/root.h"

namespace aliquot::agent {

/// cdi::describe_node() for the driver as these settings place it; all paths in it are host paths, also where the
/// driver root is mounted into our own container.
/// options   `place` is chosen here
/// errors    of cdi::describe_node()
Result<cdi::Spec> host_spec(const os::Root& root, const Settings& settings,
                            const gpu::Inventory& inventory, cdi::DescribeOptions options);

}  // namespace aliquot::agent
