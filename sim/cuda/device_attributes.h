// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "sim/cuda/device.h"

namespace aliquot::sim {

/// The value of a CUdevice_attribute; empty: there is no such attribute.
std::optional<int> device_attribute(const Device& device, int attribute);

}  // namespace aliquot::sim
