// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "top/layout.h"

namespace aliquot::top {

/// The last values over time, newest at the right, as `height` lines of `width` columns with a scale
/// at the left. One value is a column; a value that is not known is a blank.
/// ppm      0..kMillion, oldest first
/// height   at least 1
std::vector<Line> graph(std::span<const std::optional<std::uint64_t>> ppm, std::size_t width,
                        std::size_t height, Charset charset);

}  // namespace aliquot::top
