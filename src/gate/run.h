// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/result.h"
#include "gate/judge.h"
#include "os/clock.h"

namespace aliquot::gate {

enum class Orphans : std::uint8_t { kLeave, kEnd };

struct RunOptions {
    Rules rules;
    Orphans orphans = Orphans::kLeave;
    /// How long memory and processes may take to go before they count as left over.
    std::chrono::milliseconds settle{2'000};
    /// Between asking orphans to end and killing them.
    std::chrono::milliseconds grace{1'000};
};

/// What the gate does to the world.
struct World {
    std::function<Result<NodeState>()> observe;
    std::function<void(std::uint32_t pid, int signal)> signal;  // no such process: nothing happens
    os::Clock& clock;
};

struct Verdict {
    NodeState state;                   // as it was seen last
    std::vector<Leftover> leftovers;   // empty: clean
    std::vector<std::uint32_t> ended;  // orphans that were told to end
    unsigned looks = 0;
};

/// Looks; clean at once is the usual way. Else orphans are ended (SIGTERM, after `grace` SIGKILL) and it looks
/// again, every 50 ms, until the node is clean or the time is over. Faults, ECC errors and settings do not go by
/// themselves: for them alone it does not wait.
/// base   see judge()
Result<Verdict> run(const World& world, const NodeState* base, const RunOptions& options);

}  // namespace aliquot::gate
