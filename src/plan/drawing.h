// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "plan/plan.h"

namespace aliquot::plan {

/// The answer as an SVG document: a bar for each GPU (the first of many), as long as its memory, cut into what each
/// replica may use and filled as far as it needs it; below them what has no place.
std::string drawing(const Plan& plan);

}  // namespace aliquot::plan
