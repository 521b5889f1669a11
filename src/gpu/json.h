// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

#include "gpu/health.h"
#include "gpu/inventory.h"

namespace aliquot::gpu {

/// One GPU as the agent's status page and `aliquot gpu list` show it. `since` is null where it is
/// not known; `advice` and `reason` are empty for a healthy GPU.
nlohmann::ordered_json to_json(const Gpu& gpu, std::span<const SeenXid> xids);

/// "2026-11-21T15:04:05Z"; empty for the epoch.
std::string to_text(Moment moment);

/// "none", "passthrough", "vgpu-guest", "vgpu-host", "vsga-host".
std::string_view to_text(Virtualization virtualization);

}  // namespace aliquot::gpu
