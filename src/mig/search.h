// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "mig/geometry.h"
#include "mig/layout_spec.h"
#include "mig/plan.h"

namespace aliquot::mig {

/// What a search has to place, and around what.
struct Task {
    const Geometry* geometry = nullptr;
    std::vector<Need> needs;
    std::vector<Instance> busy;
    std::vector<Instance> idle;
    bool leave_busy = false;
};

/// One instance of a solution.
struct Placed {
    Slot slot;
    std::vector<unsigned> compute;
};

/// The best placement of the needs, without the busy instances; nothing when there is none.
struct Solution {
    std::vector<Placed> placed;
    unsigned room = 0;
};
std::optional<Solution> search(const Task& task);

/// What the busy instances take. An instance of a profile that the geometry does not have takes its
/// memory and the compute slices of its compute instances.
Occupancy occupied(const Geometry& geometry, const std::vector<Instance>& instances);

/// Why search() found nothing.
Refusal refuse(const Task& task, const LayoutSpec& spec);

}  // namespace aliquot::mig
