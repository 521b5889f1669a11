// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "cost/report.h"

namespace aliquot::cost {

/// What smaller shares would have saved, by workload (a job's name, or a pod). Of each GPU it would have the largest of: the
/// measured peak of its memory and a quarter on top, but 1 GiB at least; its busiest hour and a quarter on top, but 5 % at
/// least. Told are those that need half of what they hold or less, were measured for an hour, and never ran out of memory.
/// history   with intervals
std::vector<Saving> savings_of(const History& history, const Allocation& allocation);

}  // namespace aliquot::cost
