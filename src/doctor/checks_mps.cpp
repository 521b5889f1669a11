// SPDX-License-Identifier: Apache-2.0
#include "doctor/check.h"

namespace aliquot::doctor {
std::span<const Check> mps_checks() { return {}; }
}  // namespace aliquot::doctor
