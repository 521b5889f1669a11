// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "vision_worker/pipeline.h"

namespace aliquot::vision_worker {

/// Looks at all pictures of a folder (not below it), by name, and writes a JSON object a line in that order.
/// returns  how many could not be looked at
/// errors   kNotFound, kPermission: the folder; kUnavailable: the results
Result<std::size_t> look_through(const Settings& settings, const Engine& engine,
                                 Pipeline& pipeline);

/// Runs the model alone, in full batches, and writes what came of it as one JSON object.
Result<Done> measure(const Settings& settings, Engine& engine);

}  // namespace aliquot::vision_worker
