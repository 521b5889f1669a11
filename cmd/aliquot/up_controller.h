// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cmd/aliquot/up_object.h"
#include "cmd/aliquot/up_workload.h"

namespace aliquot::up {

/// Reads one Pod or one of the objects that make pods, as the API server's validation does.
Workload read_workload(Report& report, const document::Node& node, WorkloadKind kind);

}  // namespace aliquot::up
