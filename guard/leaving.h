// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "guard/vmm.h"

/// Parts of sparse arrays are unmapped in the order of a stream: until the device has come to that, the
/// driver keeps their memory, and it stays charged.
namespace aliquot::guard {

inline constexpr unsigned kMostLeavingAtOnce = 8;

/// These parts, so many at most, were unmapped behind what is in the stream now. `held` is what take_array_mapping()
/// gave; let go once the device has done it, at once where it has.
void leave_behind(const PhysicalIndex* held, unsigned count, CUstream stream, bool per_thread);

/// Something waits for the device.
bool has_leaving();
/// Lets go what the device is done with.
void settle_leaving();
/// A context goes, and with it the work and its events.
/// gone  it has gone: they are not touched
void drop_leaving(CUcontext context, bool gone);

/// In the child of a fork.
void forget_leaving();

}  // namespace aliquot::guard
