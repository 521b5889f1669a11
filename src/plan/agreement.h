// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "plan/plan.h"

namespace aliquot::plan {

/// What aliquot-agent would say against a sharing configuration on a node with these GPUs: its own code
/// decides. Empty: it serves it, and every share of the plan finds its resource there.
///
/// gpus   by their index on the node; null: a GPU that the plan does not use
std::string objection_of_agent(std::string_view config, const std::vector<const GpuUse*>& gpus,
                               const std::vector<Share>& shares);

}  // namespace aliquot::plan
