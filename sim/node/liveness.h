// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/node/state.h"

namespace aliquot::sim {

/// Which processes of a node have ended. Every look at a GPU asks that of every process there, so
/// this process keeps a descriptor of each (pidfd) and asks for all of them at once; where it cannot
/// have one it reads /proc. Thread-safe.
class Liveness {
public:
    /// Whether the process at a place of the table lives. One of another pid namespace does, as far
    /// as we can tell.
    static bool lives(const ProcessState& process, unsigned entry, std::uint64_t own_namespace);

    /// Asks for all at once; what lives() says is as of then. Lets go of processes that are not in
    /// the table any more. Under the node's lock.
    static void look(const State& state);

    /// The entry is no more.
    static void forget(unsigned entry);
};

}  // namespace aliquot::sim
