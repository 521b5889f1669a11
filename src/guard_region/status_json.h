// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "guard_region/status.h"

namespace aliquot::guard_region {

/// One container as the agent's status page and `aliquot guard status -o json` tell it.
nlohmann::ordered_json to_json(const RegionStatus& region);

}  // namespace aliquot::guard_region
