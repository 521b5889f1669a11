// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

#include "detect/detect.h"

namespace aliquot::detect {

/// Reads count, type and memory of the GPUs from the text around the evidence. What stands in denied
/// evidence ("not the K80s") is not counted.
Need read_need(std::string_view text, std::span<const Evidence> evidence);

}  // namespace aliquot::detect
