// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "sim/node/state.h"

namespace aliquot::sim {

/// The only way to change how much an entry of the process table holds: keeps state.memory and the
/// peaks right. Under the node's lock.
void set_process_memory(State& state, ProcessState& process, std::uint64_t bytes);

}  // namespace aliquot::sim
