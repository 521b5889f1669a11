// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "scheduling/moves.h"

namespace aliquot::scheduling {

/// Moves that leave more GPUs, then more nodes, wholly free.
struct DefragPlan {
    WhollyFree before;
    WhollyFree after;
    std::vector<PlannedMove> moves;           // in this order
    std::map<std::string, unsigned> staying;  // why -> pods that are not to be moved
};

/// First GPUs are cleared, those of the fewest pods first, of as few those whose pods matter least and whose node has
/// the fewest GPUs in use; their pods go to GPUs that are in use and stay so, the fullest first. Then nodes, those with
/// most GPUs for each move first, where that costs no GPU. A GPU or a node is cleared as a whole or not at all, and no pod is moved twice. What was left over by
/// one choice is not weighed against another: it is a good plan, not the best of all. The same books give the same
/// plan. The books are left as the moves leave them.
DefragPlan plan_defrag(Bookings& bookings, const MoveRules& rules);

}  // namespace aliquot::scheduling
