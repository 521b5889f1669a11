// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace aliquot::guard {

/// Where nobody outside measures: asks NVML what this process holds of the device and books what
/// the guard did not see (contexts, code, the driver's own buffers) as overhead. Loads NVML when it
/// must. At most two questions a second, and none where the agent measures.
///
/// now   the last figure may be half a second old at most; else ask on every 64th call only
void measure_self(unsigned place, bool now);

}  // namespace aliquot::guard
