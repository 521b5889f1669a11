// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "controller/options.h"

namespace aliquot::controller {

/// Runs until SIGTERM or SIGINT. Before any other thread exists.
/// returns  the exit code: 0, 2 for options that do not work, 3 when it could not start
int run(const Options& options);

}  // namespace aliquot::controller
