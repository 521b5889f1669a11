// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "region/status.h"

namespace aliquot::region {

/// One container as the agent's status page and `aliquot guard status -o json` tell it.
nlohmann::ordered_json to_json(const RegionStatus& region);

}  // namespace aliquot::region
