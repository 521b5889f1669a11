// SPDX-License-Identifier: Apache-2.0
// What people change of a job: cancel, suspend, resume, retry.
#include "job_server/keeper.h"

namespace aliquot::job_server {

using jobs::State;

Result<Record> Keeper::cancel(const User& by, JobId id) {
    const std::scoped_lock lock(mutex_);
    const auto job = owned(by, id);
    if (!job) return job.error();
    Job& one = **job;
    const TimeMs now = now_ms();
    if (jobs::is_final(one.record.state)) return one.record;
    if (jobs::is_waiting(one.record.state) || one.record.state == State::kSuspended) {
        one.record.cause = jobs::Cause::kCancelled;
        auto done = step(one, State::kCancelled, "cancelled before it started", now);
        if (!done) return std::move(done).error();
        unplan(one, now, queue::Outcome::kCancelled);
    } else if (!one.record.cancel_asked) {
        Record next = one.record;
        next.cancel_asked = true;
        auto written = journal_.update(next);
        if (!written) return std::move(written).error();
        one.record = std::move(next);
        tell_runner(one);
    }
    changed_ = true;
    wake_.notify();
    return one.record;
}

Result<Record> Keeper::retry(const User& by, JobId id) {
    const std::scoped_lock lock(mutex_);
    const auto job = owned(by, id);
    if (!job) return job.error();
    Job& one = **job;
    if (!jobs::may_follow(one.record.state, State::kRequeued) ||
        !jobs::is_final(one.record.state)) {
        return Error{ErrorCode::kConflict,
                     "job " + std::to_string(id) + " is " +
                         std::string(jobs::word(one.record.state)) +
                         "; only one that failed, was cancelled or expired is tried again"};
    }
    if (living_ >= options_.most_jobs) {
        return Error{ErrorCode::kUnavailable, "the queue is full; try again when some have ended"};
    }
    const Record before = one.record;
    one.record.cancel_asked = one.record.for_idleness = false;
    one.record.counted = 0;
    one.record.not_before = 0;
    one.record.first_started = 0;
    one.record.ended = 0;
    one.record.on_cpu = false;
    auto done = step(one, State::kRequeued, "tried again on demand", now_ms());
    if (!done) {
        one.record = before;
        return std::move(done).error();
    }
    wake_.notify();
    return one.record;
}

Result<Record> Keeper::suspend(const User& by, JobId id) {
    const std::scoped_lock lock(mutex_);
    const auto job = owned(by, id);
    if (!job) return job.error();
    Job& one = **job;
    const State state = one.record.state;
    if (state == State::kSuspending || state == State::kSuspended) return one.record;
    if (jobs::is_final(state) || one.record.cancel_asked) {
        return Error{ErrorCode::kConflict, "job " + std::to_string(id) + " is " +
                                               std::string(jobs::word(state)) +
                                               "; only one that waits or runs can be suspended"};
    }
    const TimeMs now = now_ms();
    if (jobs::is_waiting(state)) {
        auto done = step(one, State::kSuspended, "suspended before it started", now);
        if (!done) return std::move(done).error();
        unplan(one, now, queue::Outcome::kCancelled);
    } else {
        auto done = step(one, State::kSuspending, "its program is being ended", now);
        if (!done) return std::move(done).error();
        tell_runner(one);
    }
    wake_.notify();
    return one.record;
}

Result<Record> Keeper::resume(const User& by, JobId id) {
    const std::scoped_lock lock(mutex_);
    const auto job = owned(by, id);
    if (!job) return job.error();
    Job& one = **job;
    if (one.record.state != State::kSuspended) {
        return Error{ErrorCode::kConflict, "job " + std::to_string(id) + " is " +
                                               std::string(jobs::word(one.record.state)) +
                                               "; only one that is suspended can be resumed"};
    }
    const Record before = one.record;
    one.record.first_started = 0;  // its time begins anew
    one.record.not_before = 0;
    auto done = step(one, State::kRequeued, "resumed: it waits for its turn", now_ms());
    if (!done) {
        one.record = before;
        return std::move(done).error();
    }
    wake_.notify();
    return one.record;
}

}  // namespace aliquot::job_server
