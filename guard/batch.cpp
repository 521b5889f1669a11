// SPDX-License-Identifier: Apache-2.0
#include "guard/batch.h"

namespace aliquot::guard {
namespace {

constexpr std::uint64_t kQuickNs = 20'000;

}  // namespace

/// The marks around a batch tell the time from its first launch to the end of its last. In that is the
/// time from the first mark to the launch, where nothing was before it, and where launches were not
/// made at once or the last mark not right behind them, time in which the device may have been idle.
Cost cost_of(const Batch& done, std::uint64_t alone_ns) {
    const std::uint64_t ns = done.busy_ns;
    const std::uint64_t span = done.closed_ns - done.opened_ns;
    // In many lanes the calls between two ends of work are more than those of one lane.
    const std::uint64_t work = done.several ? most(ns, done.launches * alone_ns) : ns;
    const bool is_exact = done.whole || span <= work / kHiddenPart;
    // Where several lanes are in it, the pause of one is covered by another, or was looked for in each.
    const bool is_looked_for = done.several && (done.launches > 1 || !done.idle);
    Cost cost{is_exact || is_looked_for ? ns : ns - least(ns, span), ns};
    if (done.marked_ns == 0 || done.let_in_ns < done.marked_ns) return cost;
    cost.most_ns -= least(ns, done.let_in_ns - done.marked_ns);
    cost.least_ns = least(cost.least_ns, cost.most_ns);
    if (done.launches != 1) return cost;
    const std::uint64_t made_ns = done.made_ns != 0 ? done.made_ns : done.closing_ns;
    const std::uint64_t before = made_ns - least(made_ns, done.marking_ns);
    if (ns > span) {
        // It was under way when its end was marked.
        cost.least_ns = ns - least(ns, before);
    } else if (span <= kQuickNs) {
        // Calls take effect in their middle, as far as anybody can tell.
        cost.most_ns = cost.least_ns = ns - least(ns, before / 2);
    }
    return cost;
}

}  // namespace aliquot::guard
