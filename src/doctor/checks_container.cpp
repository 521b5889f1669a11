// SPDX-License-Identifier: Apache-2.0
#include "doctor/check.h"

namespace aliquot::doctor {
std::span<const Check> container_checks() { return {}; }
}  // namespace aliquot::doctor
