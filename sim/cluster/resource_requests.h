// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "sim/cluster/manifest_object.h"
#include "sim/cluster/workload.h"

namespace aliquot::sim::cluster {

/// Reads `resources` of a container and returns the extended ones that it wants at least one of.
std::map<std::string, unsigned> read_devices(ObjectReader& container);

/// Reads `resources.claims` of a container.
/// of_pod   the names of the pod's resourceClaims
std::vector<ContainerClaim> read_container_claims(ObjectReader& container,
                                                  const std::set<std::string>& of_pod);

}  // namespace aliquot::sim::cluster
