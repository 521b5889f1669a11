// SPDX-License-Identifier: Apache-2.0
// The keeper's other thread: it looks whether GPUs of jobs are used, tells those whose are not, and ends them.
#include <pthread.h>

#include <condition_variable>

#include "base/log.h"
#include "base/time_text.h"
#include "job_server/costs.h"
#include "job_server/keeper.h"

namespace aliquot::job_server {
namespace {

using jobs::State;
using Steady = std::chrono::steady_clock;

std::string time_words(TimeMs at) {
    return rfc3339(std::chrono::system_clock::time_point(std::chrono::milliseconds(at)));
}

/// Each process is looked up once for all jobs.
class RunnerTable {
public:
    explicit RunnerTable(const std::vector<Watched>& jobs) {
        for (const Watched& one : jobs) {
            if (one.runner > 0) runners_.push_back(one.runner);
        }
    }
    pid_t operator()(std::uint32_t pid) {
        const auto [at, is_new] = known_.try_emplace(pid, 0);
        if (!is_new) return at->second;
        for (const pid_t runner : runners_) {
            if (is_below(pid, static_cast<std::uint32_t>(runner))) at->second = runner;
        }
        return at->second;
    }

private:
    std::vector<pid_t> runners_;
    std::map<std::uint32_t, pid_t> known_;
};

}  // namespace

void Keeper::watch_use(const std::stop_token& stop) {
    ::pthread_setname_np(::pthread_self(), "job-use");
    std::mutex mutex;
    std::condition_variable_any tick;
    Steady::time_point before = Steady::now();
    while (!stop.stop_requested()) {
        std::unique_lock wait(mutex);
        tick.wait_for(wait, stop, options_.look_every, [] { return false; });
        if (stop.stop_requested()) return;
        const auto [jobs, all] = watched();
        if (jobs.empty()) {
            note_use({}, {});
            continue;
        }
        const UseLook look = options_.look();
        const auto now = Steady::now();
        const auto elapsed = std::chrono::duration_cast<std::chrono::microseconds>(now - before);
        before = now;
        const auto runner_of = [table = std::make_shared<RunnerTable>(all)](std::uint32_t pid) {
            return (*table)(pid);
        };
        std::vector<Seen> seen;
        for (const Watched& one : jobs) {
            seen.push_back(seen_of(one, look, elapsed, options_.idle.below_percent, runner_of));
        }
        note_use(jobs, seen);
    }
}

/// Those that are judged, and all that run.
std::pair<std::vector<Watched>, std::vector<Watched>> Keeper::watched() const {
    std::pair<std::vector<Watched>, std::vector<Watched>> found;
    const std::scoped_lock lock(mutex_);
    const TimeMs now = now_ms();
    for (const auto& [id, job] : jobs_) {
        const Record& record = job.record;
        const jobs::Request& request = record.request;
        if (record.state != State::kRunning || record.devices.empty()) continue;
        found.second.push_back({.job = id,
                                .attempt = record.attempt,
                                .runner = record.runner,
                                .devices = record.devices,
                                .is_share = !request.gpu_memory.empty() || request.gpu_compute != 0,
                                .compute_percent = request.gpu_compute});
        if (rule_of(options_.idle, request).after == 0 || record.cancel_asked) continue;
        if (now - record.started < options_.idle.min_run) continue;
        found.first.push_back(found.second.back());
    }
    return found;
}

void Keeper::note_use(const std::vector<Watched>& jobs, const std::vector<Seen>& seen) {
    const std::scoped_lock lock(mutex_);
    const TimeMs now = now_ms();
    std::map<JobId, IdleStretch> next;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        const auto found = jobs_.find(jobs[i].job);
        if (found == jobs_.end()) continue;
        Job& job = found->second;
        const Record& record = job.record;
        if (record.attempt != jobs[i].attempt || record.state != State::kRunning) continue;
        if (record.cancel_asked) continue;
        IdleStretch stretch{.job = record.id, .attempt = record.attempt};
        const auto before = idle_.find(record.id);
        if (before != idle_.end() && before->second.attempt == record.attempt)
            stretch = before->second;
        stretch = act_on(job, with_look(stretch, seen[i], now), seen[i], now);
        if (stretch.since != 0) next[record.id] = stretch;
    }
    if (next == idle_) return;
    idle_ = std::move(next);
    std::vector<IdleStretch> all;
    for (const auto& [id, one] : idle_) all.push_back(one);
    if (auto kept = journal_.put_idle(all); !kept)
        log::error("journal.failed", {{"reason", kept.error().message}});
}

/// Tells and ends; the stretch as it is from then on.
IdleStretch Keeper::act_on(Job& job, IdleStretch stretch, Seen seen, TimeMs now) {
    const IdleRule rule = rule_of(options_.idle, job.record.request);
    const std::string words = idle_words(options_.idle.below_percent, now - stretch.since);
    const Record before = job.record;
    const auto steps = [&](const std::string& reason) {
        const bool done = step(job, State::kRunning, reason, now).ok();
        if (!done) job.record = before;  // with the next look
        return done;
    };
    if (before.idle_since != 0 && stretch.told == 0) {
        job.record.idle_since = 0;
        (void)steps(seen == Seen::kUsed ? "its GPUs are used again"
                                        : "whether its GPUs are used was not known for a while");
        return stretch;
    }
    switch (step_of(stretch, rule, options_.idle.grace, now)) {
        case IdleStep::kNone:
            break;
        case IdleStep::kTell:
            job.record.idle_since = stretch.since;
            if (!steps("its GPUs are idle: " + words +
                       (rule.ends ? "; it is ended at " + time_words(now + options_.idle.grace) +
                                        " unless they are used"
                                  : "")))
                break;
            stretch.told = now;
            log::warning("job.idle", {{"job", before.id},
                                      {"user", before.user.name},
                                      {"use", words},
                                      {"ends", rule.ends}});
            break;
        case IdleStep::kEnd:
            job.record.cancel_asked = job.record.for_idleness = true;
            if (!steps("ended: " + words)) break;
            log::warning("job.ended_idle",
                         {{"job", before.id}, {"user", before.user.name}, {"use", words}});
            tell_runner(job);
            break;
    }
    return stretch;
}

}  // namespace aliquot::job_server
