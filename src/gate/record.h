// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "gate/judge.h"

namespace aliquot::gate {

/// What the gate before a job writes down for the gate after it: JSON.
std::string to_json(const NodeState& state);
/// errors   kInvalidInput: no such text; at most 1 MiB and 256 GPUs
Result<NodeState> read_record(std::string_view text);

}  // namespace aliquot::gate
