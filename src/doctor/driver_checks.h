// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "catalog/gpu_models.h"
#include "doctor/check.h"

namespace aliquot::doctor {

/// The two halves of driver_checks(): why the module is not loaded, and how the loaded one fares.
std::vector<Check> driver_loading_checks();
std::vector<Check> driver_state_checks();

/// What the table knows of a PCI device; several models share some ids.
std::vector<const catalog::GpuModel*> models_of(const PciDevice& gpu);

}  // namespace aliquot::doctor
