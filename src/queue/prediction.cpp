// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "queue/state.h"

namespace aliquot::queue {
namespace {

/// A run that outlasts every prediction is expected to take as long again.
Time doubled(Time elapsed) { return std::max<Time>(1'000, 2 * elapsed); }

}  // namespace

Estimate State::estimate(const Record& record, Time elapsed) const {
    Estimate said;
    if (record.expected > 0) {
        const Time whole = record.expected > elapsed ? record.expected : doubled(elapsed);
        said = {whole, whole, whole};
    } else {
        if (options.learn)
            said = elapsed == 0 ? run_times.at_start(record.key)
                                : run_times.estimate(record.key, elapsed);
        const Time most = record.limit > 0 ? record.limit : quotas.queue(record.queue).limit;
        if (said.p50 == 0) {
            const Time guess = most > 0 ? most : options.first_guess;
            const Time whole = guess > elapsed ? guess : doubled(elapsed);
            said = {whole, whole, whole};
        }
    }
    const Time most = record.limit > 0 ? record.limit : quotas.queue(record.queue).limit;
    if (most > elapsed) {
        said.p50 = std::min(said.p50, most);
        said.p90 = std::min(said.p90, most);
        said.mean = std::min(said.mean, most);
    }
    return said;
}

Time State::predicted(const Record& record) const {
    return estimate(record, record.done).p50 - record.done;
}

Time State::ends_of(const Record& record, Time at) const {
    const Time elapsed = record.done + std::max<Time>(0, at - record.since);
    return record.since - record.done + estimate(record, elapsed).p50;
}

void State::expect_end(Slot slot, Time ends) {
    Record& record = records[slot];
    std::set<std::pair<Time, Slot>>& pool = in_pool[quotas.pool(record.queue)];
    running.erase({record.ends, slot});
    pool.erase({record.ends, slot});
    record.ends = ends;
    running.emplace(ends, slot);
    pool.emplace(ends, slot);
}

void State::extend_overruns() {
    while (!running.empty() && running.begin()->first <= now) {
        const Slot slot = running.begin()->second;
        Record& record = records[slot];
        expect_end(slot, record.leaving ? now + 1'000 : std::max(now + 1, ends_of(record, now)));
        // What it was charged grows with it.
        const double worth = usage.worth(record.milli, record.since, record.ends);
        usage.charge(record.account, worth - record.worth);
        usage.charge(queue_accounts[record.queue], worth - record.worth);
        record.worth = worth;
        if (!held.empty()) changed = afresh = true;
    }
}

}  // namespace aliquot::queue
