// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "placement/policy.h"
#include "placement/scorer.h"

namespace aliquot::sim::trace {

/// The scores of every policy but ours: those of the FGD paper, and kSpread. For
/// placement::Options::published.
std::unique_ptr<placement::Scorer> published_scorer(placement::Policy policy, std::uint64_t seed);

/// Fragmentation gradient descent (USENIX ATC'23).
std::unique_ptr<placement::Scorer> fgd_scorer();

}  // namespace aliquot::sim::trace
