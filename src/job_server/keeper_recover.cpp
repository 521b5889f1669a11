// SPDX-License-Identifier: Apache-2.0
// After a start: what is true of the jobs that the journal says were active.
#include "base/log.h"
#include "job_server/keeper.h"

namespace aliquot::job_server {

using jobs::State;

Result<Done> Keeper::recover() {
    auto records = journal_.load();
    if (!records) return std::move(records).error();
    for (Record& record : *records) {
        Job& job = jobs_[record.id];
        job.bytes = bytes_of(record.request);
        job.record = std::move(record);
        if (!jobs::is_final(job.record.state)) ++living_;
    }
    auto idle = journal_.idle();
    if (!idle) return std::move(idle).error();
    for (const IdleStretch& one : *idle) {
        const auto found = jobs_.find(one.job);
        if (found == jobs_.end() || found->second.record.attempt != one.attempt) continue;
        idle_[one.job] = one;
        if (one.told != 0) found->second.record.idle_since = one.since;
    }
    for (auto& [id, job] : jobs_) {
        if (!jobs::is_active(job.record.state)) continue;
        if (auto done = recover_active(job); !done) return done;
    }
    return Done{};
}

/// A try that runs is on the books again, whatever else is true of it; all others are judged by look_after().
Result<Done> Keeper::recover_active(Job& job) {
    const TimeMs now = now_ms();
    const auto directory = directory_of(job.record);
    Look look = look_at(directory);
    if (look.kind == Look::Kind::kNew && !take_back(directory)) look = look_at(directory);
    if (look.kind == Look::Kind::kNew || look.kind == Look::Kind::kVoid) {
        requeue(job, "the server ended before it was begun", 0, now);
        return Done{};
    }
    if (look.kind != Look::Kind::kAlive) {
        look_after(job, now);
        return Done{};
    }
    job.runner = open_runner(look);
    auto taken = planner_.started(planner_job(job.record), fleet_.places_of(job.record.devices),
                                  job.record.started, now);
    if (taken) {
        job.planned = true;
        job.on_books = true;
    } else {
        log::warning("job.off_books", {{"job", job.record.id}, {"reason", taken.error().message}});
    }
    job.record.runner = look.runner;
    if (job.record.state == State::kRunning) tell(job);
    const bool stops = job.record.state == State::kSuspending;
    if (job.record.state != State::kRunning && !stops) {
        (void)step(job, State::kRunning, "it runs, and was found again", now);
    }
    // The one who was asked to end it may have died before.
    if (stops || job.record.cancel_asked) tell_runner(job);
    return Done{};
}

}  // namespace aliquot::job_server
