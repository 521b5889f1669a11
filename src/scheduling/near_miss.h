// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "scheduling/bookings.h"

namespace aliquot::scheduling {

/// As Books::near_misses(). Which pods would have to end is a good guess, not the least of all sets: they are
/// taken one by one from the GPUs that are free soonest, lower priority first, and whoever is not needed
/// in the end is left out.
std::vector<NearMiss> near_misses(const GpuPod& pod, const Bookings& bookings, std::size_t most);

}  // namespace aliquot::scheduling
