// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "cost/interval.h"
#include "cost/row.h"

namespace aliquot::cost {

/// Divides what the nodes cost between those who had something of them. For each node, hour and price:
/// - a GPU's price goes to its holders by their shares; when these are more than the GPU, in proportion;
/// - what nobody holds is free, warming or draining; all of a broken GPU is broken;
/// - CPU and memory go to their holders in the same way, the rest is free.
/// Whatever the history: spans of a node that overlap count once (the one that begins first), so do intervals of
/// one owner on one part; intervals outside of spans cost nothing. Order does not matter. Uses up to `threads`.
Allocation allocate(const History& history, unsigned threads = 1);

/// Takes what one node cost. Must not throw.
using TakeNode = std::function<void(const Allocation&)>;

/// The same, node by node and in the same order: of millions of rows only some nodes' are in memory at a time.
/// `take` is called by one thread at a time, not always by the same; what it is given ends with the call.
void allocate(const History& history, const TakeNode& take, unsigned threads = 1);

}  // namespace aliquot::cost
