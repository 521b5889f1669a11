// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "sim/cluster/manifest_object.h"

namespace aliquot::sim::cluster {

/// Reads `resources` of a container and returns the extended ones that it wants at least one of.
std::map<std::string, unsigned> read_devices(ObjectReader& container);

}  // namespace aliquot::sim::cluster
