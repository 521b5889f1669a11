// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "queue/state.h"

namespace aliquot::queue {
namespace {

/// A run that outlasts every prediction is expected to take as long again.
Time doubled(Time elapsed) { return std::max<Time>(1'000, 2 * elapsed); }

}  // namespace

Time State::declared(const Record& record) const {
    constexpr unsigned kFewestCompared = 20;
    if (record.expected > 0) return record.expected;
    return compared >= kFewestCompared && limit_off < history_off ? record.limit : 0;
}

void State::think_of(Record& record) const {
    if (!options.learn || record.limit == 0 || record.expected > 0) return;
    record.by_history = run_times.at_start(record.key).p50;
    record.by_limit = run_times.of_declared(record.key, record.limit, 0).p50;
}

/// It has run to its end.
void State::learn_from(const Record& record) {
    constexpr double kFaded = 0.98;
    if (!options.learn) return;
    const Time ran = record.done + now - record.since;
    run_times.learn(record.key, ran, record.expected > 0 ? record.expected : record.limit);
    if (record.by_history == 0 || record.by_limit == 0) return;
    const auto miss = [&](Time thought) {
        return std::abs(std::log(static_cast<double>(std::max<Time>(1'000, ran)) /
                                 static_cast<double>(std::max<Time>(1'000, thought))));
    };
    history_off = history_off * kFaded + miss(record.by_history);
    limit_off = limit_off * kFaded + miss(record.by_limit);
    ++compared;
}

Estimate State::estimate(const Record& record, Time elapsed) const {
    Estimate said;
    if (record.expected > 0) {
        const Time whole = record.expected > elapsed ? record.expected : doubled(elapsed);
        said = {whole, whole, whole};
    } else {
        const Time limit = declared(record);
        if (options.learn && limit > 0)
            said = run_times.of_declared(record.key, limit, elapsed);
        else if (options.learn)
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
