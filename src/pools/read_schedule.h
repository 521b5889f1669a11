// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "document/value.h"
#include "pools/pool.h"
#include "pools/problem.h"

/// The part of a pool that is about its schedules. Inside src/pools only.
namespace aliquot::pools {

inline constexpr unsigned kMostNodes = 10'000;  // of one pool

/// place   in its list, from 0
Schedule read_schedule(const document::Value& node, std::size_t place,
                       std::vector<Problem>& problems);

/// Names, numbers beyond the pool's, and steps that raise a pool that nothing lowers again.
void check_partners(const Pool& pool, std::vector<Problem>& problems);

}  // namespace aliquot::pools
