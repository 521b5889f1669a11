// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "sim/node/state.h"

namespace aliquot::sim {

/// Adds an event to the ring; sleepers are the caller's affair (SharedState::announce).
void push_event(State& state, unsigned gpu, std::uint64_t type, std::uint64_t data,
                const Instance& where = {});

}  // namespace aliquot::sim
