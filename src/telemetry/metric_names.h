// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

#include "gpu/meters.h"

namespace aliquot::telemetry {

/// "smClockMhz": a metric's name in the JSON of a snapshot.
std::string_view name_of(gpu::Metric metric);
std::optional<gpu::Metric> metric_named(std::string_view name);

}  // namespace aliquot::telemetry
