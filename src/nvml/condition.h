// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gpu/hardware.h"
#include "nvml/library.h"

namespace aliquot::nvml {

/// What a GPU says of its memory and heat; what it does not report, or what fails, stays empty.
gpu::Condition read_condition(const Library& library, nvmlDevice_t device);

}  // namespace aliquot::nvml
