// SPDX-License-Identifier: Apache-2.0
#include "gate/run.h"

#include <signal.h>  // NOLINT(modernize-deprecated-headers): SIGKILL is POSIX

#include <algorithm>

namespace aliquot::gate {
namespace {

constexpr std::chrono::milliseconds kPause{50};

bool may_go(const std::vector<Leftover>& leftovers) {
    return std::ranges::any_of(leftovers, [](const Leftover& one) {
        return one.kind == LeftoverKind::kProcess || one.kind == LeftoverKind::kMemory;
    });
}

/// Asks every orphan to end, each once; later the ones that stay are killed.
void end_orphans(const World& world, int number, Verdict& verdict) {
    for (const Leftover& one : verdict.leftovers) {
        if (one.kind != LeftoverKind::kProcess) continue;
        const bool told = std::ranges::find(verdict.ended, one.pid) != verdict.ended.end();
        if (told && number == SIGTERM) continue;
        if (!told) verdict.ended.push_back(one.pid);
        world.signal(one.pid, number);
    }
}

}  // namespace

Result<Verdict> run(const World& world, const NodeState* base, const RunOptions& options) {
    Verdict verdict;
    const auto begin = world.clock.now();
    const bool ends = options.orphans == Orphans::kEnd;
    const auto until =
        begin + options.settle + (ends ? options.grace : std::chrono::milliseconds(0));
    while (true) {
        auto state = world.observe();
        if (!state) return std::move(state).error();
        ++verdict.looks;
        verdict.state = *std::move(state);
        verdict.leftovers = judge(verdict.state, base, options.rules);
        const auto now = world.clock.now();
        if (!may_go(verdict.leftovers) || now >= until) return verdict;
        if (ends) end_orphans(world, now - begin < options.grace ? SIGTERM : SIGKILL, verdict);
        world.clock.sleep_for(kPause, {});
    }
}

}  // namespace aliquot::gate
