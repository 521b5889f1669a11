// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "sim/node/node.h"
#include "sim/node/state.h"

namespace aliquot::sim {

/// Adds an event to the ring; sleepers are the caller's affair (SharedState::announce).
void push_event(State& state, unsigned gpu, std::uint64_t type, std::uint64_t data);

/// Changes the state as the fault says. `gpu` exists.
/// errors   kInvalidInput: a value that the fault cannot have; kUnsupported: ECC errors on a GPU
///          without ECC memory
Result<Done> apply_fault(State& state, unsigned gpu, FaultKind kind, std::uint64_t value);

/// "lost", "call error 999", "hang", "temperature 95 C", "throttle 0x8"; empty: none.
std::string fault_text(const FaultState& fault);

/// Calls block right now.
bool hangs(const FaultState& fault, std::uint64_t now_ns);

/// What the driver advises after this Xid: 0 nothing, 1 GPU reset, 2 node reboot.
/// source   NVIDIA's catalogue of Xid errors, "recovery action"
unsigned recovery_action_of(std::uint64_t xid);

}  // namespace aliquot::sim
