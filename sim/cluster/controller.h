// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/cluster/manifest_object.h"
#include "sim/cluster/workload.h"

namespace aliquot::sim::cluster {

/// Reads one Pod or one of the objects that make pods, as the API server's validation does.
Workload read_workload(Diagnostics& report, const document::Value& node, WorkloadKind kind);

}  // namespace aliquot::sim::cluster
