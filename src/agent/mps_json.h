// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>

#include "mps/status.h"

namespace aliquot::agent {

/// The status page's `mps`: one object per control daemon.
nlohmann::ordered_json mps_json(std::span<const mps::Status> statuses);

}  // namespace aliquot::agent
