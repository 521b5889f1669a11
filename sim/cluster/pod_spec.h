// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "sim/cluster/manifest_object.h"
#include "sim/cluster/workload.h"

namespace aliquot::sim::cluster {

/// Reads a PodSpec as the API server's validation does; complains into `report`.
///
/// path             "spec" or "spec.template.spec"
PodTemplate read_pod_spec(Diagnostics& report, const document::Value& node,
                          const std::string& path);

}  // namespace aliquot::sim::cluster
