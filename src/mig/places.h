// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "base/result.h"
#include "mig/geometry.h"
#include "mig/plan.h"

namespace aliquot::mig {

/// Every place of every profile: the profiles in their order, of each first the place that leaves the most room on an
/// empty GPU (mig::room), else the first. For whoever takes the first that is free. Pure.
std::vector<Slot> places_of(const Geometry& geometry);

/// How a GPU is to be cut so that `wanted` is there, each instance at its place: what is busy stays, and of what is idle
/// as much as fits beside that. By start. Pure.
/// there    valid; a profile that `geometry` does not have is only in the way of what it overlaps
/// errors   kConflict: what is busy leaves no room; kNotFound: this GPU has no such profile or place
Result<std::vector<Instance>> cut_with(const Geometry& geometry, const std::vector<Instance>& there,
                                       const std::vector<Instance>& wanted);

}  // namespace aliquot::mig
