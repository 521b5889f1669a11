// SPDX-License-Identifier: Apache-2.0
#include "queue/planner.h"

#include <algorithm>

#include "queue/state.h"

namespace aliquot::queue {
namespace {

Error wrong_job(JobId id, const std::string& what) {
    return {ErrorCode::kInvalidInput, "job " + std::to_string(id) + ": " + what};
}

Error no_such_job(JobId id) {
    return {ErrorCode::kNotFound, "job " + std::to_string(id) + ": neither waits nor runs"};
}

bool is_time(Time time) { return time >= 0 && time <= kLatest; }

Options bounded(Options options) {
    options.reservations = std::clamp(options.reservations, 1U, 16U);
    options.window = std::clamp(options.window, 1U, 100'000U);
    options.half_life = std::clamp<Time>(options.half_life, 1'000, kLatest);
    options.first_guess = std::clamp<Time>(options.first_guess, 1, kLatest);
    if (options.policy == Policy::kEasy) options.reservations = 1;
    return options;
}

}  // namespace

State::State(Options chosen)
    : options(bounded(chosen)), room(chosen.placement), usage(options.half_life) {}

void State::see(Time at) {
    now = std::max(now, std::min(at, kLatest));
    const double factor = usage.settle(now);
    if (factor == 1) return;
    for (const auto& [ends, slot] : running) records[slot].worth *= factor;
}

Result<Slot> State::enter(const Job& job, Time at) {
    if (job.id == 0) return wrong_job(job.id, "0 is not an id");
    if (by_id.contains(job.id))
        return Error{ErrorCode::kConflict, "job " + std::to_string(job.id) + ": submitted already"};
    if (!is_time(at) || !is_time(job.submitted) || !is_time(job.limit) || !is_time(job.expected))
        return wrong_job(job.id, "a time is less than nothing or beyond 2^50 ms");
    auto ask = room.ask_of(job.request, job.gang);
    if (!ask) return std::move(ask).error().during("job " + std::to_string(job.id));
    see(at);
    Record record{.id = job.id,
                  .submitted = job.submitted,
                  .limit = job.limit,
                  .expected = job.expected,
                  .ask = *ask,
                  .queue = quotas.id_of(job.queue),
                  .priority = job.priority,
                  .preemptible = job.preemptible};
    while (queue_accounts.size() < quotas.size()) queue_accounts.push_back(usage.add_account());
    in_pool.resize(quotas.pools());
    text.assign(job.queue) += '\x1f';
    text += job.user;
    const auto known = user_accounts.find(text);
    record.account = known != user_accounts.end()
                         ? known->second
                         : user_accounts.emplace(text, usage.add_account()).first->second;
    record.key = run_times.key_of(job);
    think_of(record);
    Slot slot = static_cast<Slot>(records.size());
    if (unused.empty()) {
        records.push_back(std::move(record));
    } else {
        slot = unused.back();
        unused.pop_back();
        records[slot] = std::move(record);
    }
    by_id.emplace(job.id, slot);
    return slot;
}

LineId State::line_of(const Record& record) {
    const auto key = is_ours() ? std::tuple{record.priority, record.queue, record.account}
                               : std::tuple{std::int32_t{0}, record.queue, std::uint32_t{0}};
    const auto known = line_ids.find(key);
    if (known != line_ids.end()) return known->second;
    LineId id = static_cast<LineId>(lines.size());
    if (unused_lines.empty()) {
        lines.emplace_back();
    } else {
        id = unused_lines.back();
        unused_lines.pop_back();
    }
    lines[id] = {.priority = std::get<0>(key), .queue = record.queue, .account = record.account};
    line_ids.emplace(key, id);
    return id;
}

void State::wait(Slot slot) {
    Record& record = records[slot];
    switch (options.policy) {
        case Policy::kSjf:
        case Policy::kSrtf:
            record.rank = predicted(record);
            break;
        case Policy::kQssf:
            record.rank = predicted(record) / 1'000 * room.ask(record.ask).milli;
            break;
        default:
            record.rank = record.submitted;
    }
    record.line = line_of(record);
    Line& line = lines[record.line];
    const auto bucket = std::find_if(line.buckets.begin(), line.buckets.end(),
                                     [&](const Bucket& b) { return b.ask == record.ask; });
    Bucket& mine = bucket != line.buckets.end()
                       ? *bucket
                       : line.buckets.emplace_back(Bucket{.ask = record.ask});
    mine.jobs.insert({record.rank, record.id, slot});
    ++line.count;
    ++waiting_count;
    // One that asks as another that found no place finds none either.
    if (room.is_refused(record.ask)) return;
    line.idle = false;
    changed = true;
    if (!held.empty()) afresh = true;
}

void State::stop_waiting(Slot slot) {
    const Record& record = records[slot];
    Line& line = lines[record.line];
    for (Bucket& bucket : line.buckets)
        if (bucket.ask == record.ask) bucket.jobs.erase({record.rank, record.id, slot});
    --waiting_count;
    if (--line.count > 0) return;
    line_ids.erase(is_ours() ? std::tuple{line.priority, line.queue, line.account}
                             : std::tuple{std::int32_t{0}, line.queue, std::uint32_t{0}});
    line.buckets.clear();
    unused_lines.push_back(record.line);
}

void State::run(Slot slot, std::vector<placement::Placement> where, Time since) {
    Record& record = records[slot];
    record.runs = true;
    record.leaving = false;
    record.since = since;
    record.where = std::move(where);
    record.milli = room.ask(record.ask).milli;
    record.ends = std::max(now + 1, ends_of(record, now));
    record.worth = usage.worth(record.milli, since, record.ends);
    usage.charge(record.account, record.worth);
    usage.charge(queue_accounts[record.queue], record.worth);
    quotas.take(record.queue, record.milli);
    running.emplace(record.ends, slot);
    in_pool[quotas.pool(record.queue)].emplace(record.ends, slot);
}

void State::stop_running(Slot slot) {
    Record& record = records[slot];
    running.erase({record.ends, slot});
    in_pool[quotas.pool(record.queue)].erase({record.ends, slot});
    quotas.take(record.queue, -record.milli);
    const double worth = usage.worth(record.milli, record.since, now);
    usage.charge(record.account, worth - record.worth);
    usage.charge(queue_accounts[record.queue], worth - record.worth);
    room.release(record.ask, record.where);
    room.note_freed();
    record.where.clear();
    record.runs = false;
    changed = afresh = true;
}

void State::forget(Slot slot) {
    by_id.erase(records[slot].id);
    records[slot] = {};
    unused.push_back(slot);
}

Planner::Planner(Options options) : state_(std::make_unique<State>(options)) {}
Planner::~Planner() = default;
Planner::Planner(Planner&&) noexcept = default;
Planner& Planner::operator=(Planner&&) noexcept = default;

Result<Done> Planner::add_geometry(placement::MigGeometry geometry) {
    return state_->room.add_geometry(std::move(geometry));
}

Result<placement::NodeId> Planner::add_node(placement::NodeSpec spec) {
    state_->changed = state_->afresh = true;
    return state_->room.add_node(std::move(spec));
}

Result<Done> Planner::set_queue(const Queue& queue) {
    auto set = state_->quotas.set(queue);
    if (!set) return set;
    State& state = *state_;
    state.in_pool.assign(state.quotas.pools(), {});
    for (const auto& [ends, slot] : state.running)
        state.in_pool[state.quotas.pool(state.records[slot].queue)].emplace(ends, slot);
    state.changed = state.afresh = true;
    return set;
}

bool Planner::could_ever_start(const Job& job) {
    const auto ask = state_->room.ask_of(job.request, job.gang);
    if (!ask || !state_->room.fits_empty(*ask)) return false;
    const auto queue = state_->quotas.find(job.queue);
    return !queue || state_->quotas.ever_fits(*queue, state_->room.ask(*ask).milli);
}

Result<Done> Planner::submit(const Job& job, Time now) {
    auto slot = state_->enter(job, now);
    if (!slot) return std::move(slot).error();
    state_->wait(*slot);
    return Done{};
}

Result<Done> Planner::started(const Job& job, const std::vector<placement::Placement>& where,
                              Time since, Time now) {
    if (!is_time(since)) return wrong_job(job.id, "it runs since before the beginning");
    auto slot = state_->enter(job, now);
    if (!slot) return std::move(slot).error();
    auto placed = state_->room.place_at(state_->records[*slot].ask, where);
    if (!placed) {
        state_->forget(*slot);
        return std::move(placed).error().during("job " + std::to_string(job.id));
    }
    state_->run(*slot, std::move(*placed), std::min(since, state_->now));
    state_->changed = state_->afresh = true;
    return Done{};
}

Result<Done> Planner::started_somewhere(const Job& job, Time since, Time now) {
    if (!is_time(since)) return wrong_job(job.id, "it runs since before the beginning");
    auto slot = state_->enter(job, now);
    if (!slot) return std::move(slot).error();
    auto placed = state_->room.place(state_->records[*slot].ask);
    if (!placed || placed->empty()) {
        state_->forget(*slot);
        return Error{ErrorCode::kConflict,
                     "job " + std::to_string(job.id) + " runs, and the books have no room for it"};
    }
    state_->run(*slot, std::move(*placed), std::min(since, state_->now));
    state_->changed = state_->afresh = true;
    return Done{};
}

Plan Planner::decide(Time now) {
    state_->see(now);
    return state_->decide();
}

Result<Done> Planner::ended(JobId id, Time now, Outcome outcome) {
    const auto found = state_->by_id.find(id);
    if (found == state_->by_id.end()) return no_such_job(id);
    state_->see(now);
    const Slot slot = found->second;
    const Record& record = state_->records[slot];
    if (record.runs) {
        if (outcome == Outcome::kCompleted) state_->learn_from(record);
        state_->stop_running(slot);
    } else {
        state_->stop_waiting(slot);
        // What was kept for it is free for others.
        if (!state_->held.empty()) state_->changed = state_->afresh = true;
        for (const Held& held : state_->held)
            if (held.slot == slot) state_->room.note_freed();
    }
    state_->forget(slot);
    return Done{};
}

Result<Done> Planner::requeue(JobId id, Time now, Time expected) {
    const auto found = state_->by_id.find(id);
    if (found == state_->by_id.end() || !state_->records[found->second].runs)
        return Error{ErrorCode::kNotFound, "job " + std::to_string(id) + ": does not run"};
    state_->see(now);
    state_->stop_running(found->second);
    Record& record = state_->records[found->second];
    if (is_time(expected) && expected > 0)
        record.expected = expected;
    else if (state_->options.policy == Policy::kSrtf)
        record.done += state_->now - record.since;
    state_->wait(found->second);
    return Done{};
}

std::vector<Eta> Planner::forecast(Time now) {
    state_->see(now);
    return state_->forecast();
}

Result<Explanation> Planner::explain(JobId id, Time now) {
    const auto found = state_->by_id.find(id);
    if (found == state_->by_id.end()) return no_such_job(id);
    state_->see(now);
    return state_->explain(found->second);
}

std::size_t Planner::waiting() const { return state_->waiting_count; }
std::size_t Planner::running() const { return state_->running.size(); }

std::vector<placement::Placement> Planner::where(JobId id) const {
    const auto found = state_->by_id.find(id);
    if (found == state_->by_id.end()) return {};
    return state_->records[found->second].where;
}

const placement::Engine& Planner::devices() const { return state_->room.engine(); }

std::string Planner::self_check() {
    std::string wrong = state_->room.self_check();
    if (!wrong.empty()) return wrong;
    std::int64_t milli = 0;
    std::int64_t used = 0;
    std::size_t waiting = 0;
    for (const auto& [ends, slot] : state_->running) milli += state_->records[slot].milli;
    for (QueueId id = 0; id < state_->quotas.size(); ++id) used += state_->quotas.used(id);
    for (const auto& line : state_->lines) {
        std::size_t count = 0;
        for (const Bucket& bucket : line.buckets) count += bucket.jobs.size();
        if (count != line.count)
            return "a line counts " + std::to_string(line.count) + " jobs and has " +
                   std::to_string(count);
        waiting += count;
    }
    if (milli != used)
        return "quotas count " + std::to_string(used) + " milli, jobs " + std::to_string(milli);
    if (waiting != state_->waiting_count ||
        state_->by_id.size() != waiting + state_->running.size())
        return "jobs are counted wrongly";
    return {};
}

}  // namespace aliquot::queue
