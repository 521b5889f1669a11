// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "doctor/judge.h"

namespace aliquot::doctor {

/// The chain of layers from the hardware up to the program as an SVG document: what holds, what is broken with its
/// reason and the first way to mend it, what could not be judged for that.
std::string drawing(const Report& report);

}  // namespace aliquot::doctor
