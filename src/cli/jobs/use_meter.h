// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "base/result.h"
#include "cli/host/driver_choice.h"
#include "gpu/inventory.h"
#include "job_server/use_look.h"

namespace aliquot::cli {

/// Asks the driver what the GPUs did since the function was called last. For one thread; at most two seconds for a call.
/// errors   of nvml::Meters::open()
Result<std::function<job_server::UseLook()>> use_meter(const DriverChoice& driver,
                                                       const gpu::Inventory& inventory);

}  // namespace aliquot::cli
