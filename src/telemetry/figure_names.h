// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

#include "gpu/meters.h"

namespace aliquot::telemetry {

/// "smClockMhz": a figure's name in the JSON of a snapshot.
std::string_view name_of(gpu::Figure figure);
std::optional<gpu::Figure> figure_named(std::string_view name);

}  // namespace aliquot::telemetry
