// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "base/result.h"
#include "sim/node/options.h"
#include "sim/node/state.h"

namespace aliquot::sim {

/// The state of a node as it is after boot: who its GPUs are and where they sit.
/// errors   kInvalidInput: no or too many GPUs, an unknown model, a driver version that is none
Result<std::unique_ptr<State>> state_for(const NodeOptions& options);

}  // namespace aliquot::sim
