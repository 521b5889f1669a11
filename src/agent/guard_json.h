// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "agent/guard_snapshot.h"

namespace aliquot::agent {

/// The status page's `guard`: {"library","problem","containers":[...],"events":[...]}.
nlohmann::ordered_json guard_json(const GuardSnapshot& snapshot);

}  // namespace aliquot::agent
