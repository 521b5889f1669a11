// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "vision_worker/settings.h"

namespace aliquot::vision_worker {

/// Serves until SIGTERM or SIGINT, or goes through a folder, or measures. Before any other thread exists.
/// returns  the exit code: 0; 1 when a picture of the folder failed; 2 for a setting or a model that is wrong; 3 when it
///          could not start
int run(const Settings& settings);

}  // namespace aliquot::vision_worker
