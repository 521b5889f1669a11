// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include "guard_region/status.h"

namespace aliquot::guard_region {

/// The containers' figures as Prometheus reads them (text format 0.0.4), with the labels namespace,
/// pod, container and uuid. Regions whose container is not known yet have empty labels but for
/// `region`, which all have.
std::string metrics_text(std::span<const RegionStatus> regions);

}  // namespace aliquot::guard_region
