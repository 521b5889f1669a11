// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/apiserver/server_context.h"

namespace aliquot::sim::apiserver {

/// The objects that a fresh API server has: four namespaces, the service "kubernetes", priority
/// classes, the cluster roles that users know.
void plant_first_objects(ServerContext& context);

}  // namespace aliquot::sim::apiserver
