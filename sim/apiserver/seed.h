// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/apiserver/world.h"

namespace aliquot::sim::apiserver {

/// The objects that a fresh API server has: four namespaces, the service "kubernetes", priority
/// classes, the cluster roles that users know.
void plant_first_objects(World& world);

}  // namespace aliquot::sim::apiserver
