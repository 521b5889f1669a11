// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "sim/cuda/device.h"

namespace aliquot::sim {

/// Whether the device may read and write these bytes: allocated, mapped or page-locked memory. Notes
/// that it did.
bool reach(std::uint64_t address, std::uint64_t bytes);

/// Whether an address is one of the driver's: of any device, mapped, or page-locked.
bool known_address(std::uint64_t address);

/// Is it host memory whose pages stay where they are?
bool page_locked(std::uint64_t address);

/// Brings managed memory to the device (or back), as far as there is room.
void move_managed(Device& device, std::uint64_t address, bool to_device);

}  // namespace aliquot::sim
