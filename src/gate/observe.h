// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/result.h"
#include "gate/judge.h"
#include "gpu/hardware.h"
#include "gpu/meters.h"

namespace aliquot::gate {

/// Looks at the node's GPUs once.
/// only       uuids or indices; empty: all. Of what is not there: kInvalidInput
/// deadline   for the look at all GPUs together; one that does not answer is told as its problem
/// errors     of gpu::Sensors::enumerate
Result<NodeState> observe(gpu::Sensors& sensors, gpu::Meters& meters,
                          const std::vector<std::string>& only, std::chrono::milliseconds deadline);

}  // namespace aliquot::gate
