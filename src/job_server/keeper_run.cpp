// SPDX-License-Identifier: Apache-2.0
// The keeper's own thread: it starts jobs, and sees them end. The lock is held in all of it but in poll().
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>

#include "base/log.h"
#include "base/text.h"
#include "job_server/keeper.h"
#include "jobs/preset.h"
#include "k8s/memory_amount.h"
#include "k8s/quantity.h"
#include "os/spawner.h"

namespace aliquot::job_server {
namespace {

namespace fs = std::filesystem;
using jobs::State;

constexpr TimeMs kTick = 500;  // while something is to be looked after
constexpr TimeMs kLongTick = 30'000;
constexpr std::uint32_t kMostFreeTries = 100;  // that do not count against what a job may have
constexpr std::size_t kStartsAtOnce = 64;      // then those who ask have their turn

constexpr std::uint32_t kKeptTries = 3;  // whose output stays on the disk

Descriptor pidfd_of(pid_t pid) {
    return Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}

}  // namespace

void Keeper::run(const std::stop_token& stop) {
    ::pthread_setname_np(::pthread_self(), "job-keeper");
    std::vector<pollfd> events;
    while (!stop.stop_requested()) {
        int wait = 0;
        events.assign(1, {.fd = wake_.descriptor(), .events = POLLIN, .revents = 0});
        {
            const std::scoped_lock lock(mutex_);
            for (const auto& [id, job] : jobs_) {
                if (job.announce) {
                    events.push_back({.fd = job.announce.get(), .events = POLLIN, .revents = 0});
                } else if (job.runner) {
                    events.push_back({.fd = job.runner.get(), .events = POLLIN, .revents = 0});
                }
            }
            wait = patience(now_ms());
        }
        ::poll(events.data(), events.size(), wait);
        wake_.clear();
        const std::scoped_lock lock(mutex_);
        const TimeMs now = now_ms();
        watch_runners(now);
        queue_ready(now);
        start_some(now);
        clean_up(now);
    }
}

int Keeper::patience(TimeMs now) const {
    if (changed_ || plan_again_ <= now) return 0;
    const bool timers = std::any_of(jobs_.begin(), jobs_.end(), [](const auto& entry) {
        const Job& job = entry.second;
        return !jobs::is_final(job.record.state) && job.record.state != State::kSuspended &&
               (!job.on_books || !job.runner || job.announce);
    });
    return static_cast<int>(std::min(timers ? kTick : kLongTick, plan_again_ - now));
}

void Keeper::watch_runners(TimeMs now) {
    for (auto& [id, job] : jobs_) {
        if (jobs::is_active(job.record.state)) look_after(job, now);
    }
}

/// Of one whose runner was started: has it begun, has it ended?
void Keeper::look_after(Job& job, TimeMs now) {
    if (job.announce) {
        std::array<char, 256> text{};
        const ssize_t got = ::read(job.announce.get(), text.data(), text.size());
        if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
        job.announce.reset();
        if (got > 0 &&
            std::string_view(text.data(), static_cast<std::size_t>(got)).starts_with("started")) {
            const bool stops = job.record.state == State::kSuspending;
            if (!stops) (void)step(job, State::kRunning, "it runs", now);
            if (stops || job.record.cancel_asked) tell_runner(job);
        }
    }
    if (job.runner) {
        pollfd one{.fd = job.runner.get(), .events = POLLIN, .revents = 0};
        if (::poll(&one, 1, 0) != 1) return;
    }
    // A kernel without pidfd leaves us only this to see that it has ended.
    if (job.child > 0 && ::waitpid(job.child, nullptr, job.runner ? 0 : WNOHANG) == 0) return;
    job.child = 0;
    job.runner.reset();
    const auto directory = directory_of(job.record);
    Look look = look_at(directory);
    if (look.kind == Look::Kind::kNew && !take_back(directory)) look = look_at(directory);
    switch (look.kind) {
        case Look::Kind::kEnded:
            return finish(job, look.ending, now);
        case Look::Kind::kAlive:  // it has not let go yet, or it is of an earlier server
            job.runner = open_runner(look);
            return;
        case Look::Kind::kLost:
            end_left_over(look, spec_of(job.record).cgroup);
            return finish(job,
                          {.cause = jobs::Cause::kNodeLost,
                           .code = 137,
                           .reason = look.boot == boot_id() ? "who kept it was killed"
                                                            : "the machine was started anew"},
                          now);
        case Look::Kind::kNew:
        case Look::Kind::kVoid:
            break;
    }
    requeue(job, "it was not begun", now + options_.first_pause.count(), now);
}

queue::Job Keeper::planner_job(const Record& record) const {
    queue::Job job;
    job.id = record.id;
    job.queue = record.request.queue;
    job.user = record.user.name;
    job.name = record.request.name.empty() ? record.request.task_id : record.request.name;
    job.priority = record.request.priority;
    job.submitted = record.submitted;
    job.limit = record.request.deadline_seconds * 1000;
    job.preemptible = false;
    job.gang = record.request.gang;
    if (!record.on_cpu) {
        if (auto request = fleet_.request_of(record.request)) job.request = *std::move(request);
    }
    return job;
}

Result<Done> Keeper::plan(Job& job, TimeMs now) {
    auto done = planner_.submit(planner_job(job.record), now);
    if (done) job.planned = true;
    return done;
}

void Keeper::unplan(Job& job, TimeMs now, queue::Outcome outcome) {
    if (job.planned) (void)planner_.ended(job.record.id, now, outcome);
    job.planned = false;
    job.on_books = false;
}

/// Whether nothing but devices keeps it from starting.
bool Keeper::is_ready(Job& job, TimeMs now) {
    if (job.record.not_before > now) return false;
    for (const JobId id : after_of(job.record.request)) {
        const auto found = jobs_.find(id);
        const bool there = found != jobs_.end();
        if (there && !jobs::is_final(found->second.record.state)) return false;
        const auto past =
            there ? Result<std::optional<Record>>(found->second.record) : journal_.find(id);
        if (!past) return false;
        if (past->has_value() && (*past)->state == State::kSucceeded) continue;
        job.record.cause = jobs::Cause::kCancelled;
        (void)step(job, State::kCancelled,
                   "job " + std::to_string(id) + ", which it comes after, did not succeed", now);
        return false;
    }
    return true;
}

void Keeper::fall_back(Job& job, TimeMs now) {
    const auto after = job.record.request.cpu_after_seconds;
    if (after == 0 || job.record.on_cpu || now < job.record.submitted + after * 1000) return;
    Record next = job.record;
    next.on_cpu = true;
    next.reason = "no GPU came in time: it runs on the CPU";
    if (!journal_.update(next)) return;
    unplan(job, now, queue::Outcome::kCancelled);
    job.record = std::move(next);
}

void Keeper::queue_ready(TimeMs now) {
    for (auto& [id, job] : jobs_) {
        if (!jobs::is_waiting(job.record.state)) continue;
        if (!job.on_books) fall_back(job, now);
        if (job.planned && !job.on_books && is_held(job)) {
            unplan(job, now, queue::Outcome::kCancelled);
            continue;
        }
        if (job.planned || !is_ready(job, now) || is_held(job)) continue;
        if (!job.record.on_cpu && job.record.request.cpu_after_seconds != 0 &&
            !fleet_.request_of(job.record.request)) {
            continue;  // no such GPU here: it waits for its time on the CPU
        }
        if (auto done = plan(job, now); !done) {
            (void)step(job, State::kFailed, done.error().message, now);
        } else {
            changed_ = true;
        }
    }
}

void Keeper::start_some(TimeMs now) {
    if (!std::exchange(changed_, false) && now < plan_again_) return;
    const queue::Plan plan = planner_.decide(now);
    // Not at once: a plan that wants to be asked again each time must not keep a core busy.
    plan_again_ = std::max(plan.next, now + kTick);
    std::size_t count = 0;
    for (const queue::Start& one : plan.starts) {
        const auto found = jobs_.find(one.id);
        if (found == jobs_.end()) continue;
        found->second.on_books = true;
        if (++count > kStartsAtOnce) {
            found->second.on_books = false;
            (void)planner_.requeue(one.id, now);
            changed_ = true;
            continue;
        }
        start(found->second, fleet_.devices_at(one.where), now);
    }
}

void Keeper::start(Job& job, std::vector<std::string> devices, TimeMs now) {
    const Record before = job.record;
    job.record.devices = std::move(devices);
    job.record.attempt += 1;
    job.record.started = now;
    job.record.idle_since = 0;
    if (job.record.first_started == 0) job.record.first_started = now;
    if (!step(job, State::kStarting, "its program is being started", now)) {
        // What is not written is not begun.
        job.record = before;
        job.on_books = false;
        (void)planner_.requeue(before.id, now);
        return;
    }
    if (job.record.attempt > kKeptTries) {
        std::error_code problem;
        fs::remove_all(directory_of(job.record, job.record.attempt - kKeptTries), problem);
    }
    if (!spawn(job))
        requeue(job, "it could not be started", now + options_.first_pause.count(), now);
}

bool Keeper::spawn(Job& job) {
    const auto directory = directory_of(job.record);
    auto prepared = prepare_attempt(directory, spec_of(job.record));
    if (prepared) {
        std::array<int, 2> pipe{};
        if (::pipe2(pipe.data(), O_CLOEXEC | O_NONBLOCK) != 0) return false;
        Descriptor read_end(pipe[0]);
        const Descriptor write_end(pipe[1]);
        os::Command command;
        command.argv = options_.runner;
        command.argv.push_back(directory.native());
        command.environment = os::current_environment();
        command.output_descriptor = write_end.get();
        command.error_descriptor = STDERR_FILENO;
        command.new_process_group = false;  // it makes a session of its own
        command.die_with_parent = false;    // and outlives us
        auto process = os::Process::start(command);
        if (process) {
            job.child = process->pid();
            job.record.runner = job.child;
            job.runner = pidfd_of(job.child);
            job.announce = std::move(read_end);
            process->release();
            return true;
        }
        prepared = process.error();
    }
    log::error("job.not_started", {{"job", job.record.id}, {"reason", prepared.error().message}});
    (void)take_back(directory);
    return false;
}

void Keeper::requeue(Job& job, const std::string& reason, TimeMs not_before, TimeMs now) {
    if (job.record.cancel_asked) {
        return finish(job, {.cause = jobs::Cause::kCancelled, .code = 0, .reason = ""}, now);
    }
    const Record before = job.record;
    job.record.not_before = not_before;
    job.record.devices.clear();
    const bool stops = job.record.state == State::kSuspending;
    if (!step(job, stops ? State::kSuspended : State::kRequeued, reason, now)) {
        job.record = before;  // looked at again with the next tick
        return;
    }
    unplan(job, now, queue::Outcome::kCancelled);
}

void Keeper::finish(Job& job, const Ending& ending, TimeMs now) {
    const Record before = job.record;
    job.record.cause = ending.cause;
    job.record.exit_code = ending.code;
    std::string reason = std::string(jobs::meaning_of(ending.cause));
    if (!ending.reason.empty()) reason += ": " + ending.reason;
    State to = State::kFailed;
    bool again = false;
    if (ending.cause == jobs::Cause::kNone) {
        to = State::kSucceeded;
    } else if (job.record.for_idleness) {
        to = State::kCancelled;
        if (ending.cause == jobs::Cause::kCancelled) job.record.cause = jobs::Cause::kIdle;
        reason = before.reason;
    } else if (ending.cause == jobs::Cause::kCancelled || job.record.cancel_asked) {
        to = State::kCancelled;
    } else if (ending.cause == jobs::Cause::kDeadline) {
        to = State::kExpired;
    } else if (before.state == State::kSuspending) {
        to = State::kSuspended;
        job.record.devices.clear();
        reason = "its program was ended; it begins anew when it is resumed";
    } else {
        const jobs::Retry retry =
            jobs::retry_after(ending.cause, job.record.counted, job.record.request.retries);
        const auto most = job.record.request.retries + kMostFreeTries;
        again = retry.again && job.record.attempt <= most;
        if (again) {
            to = State::kRequeued;
            job.record.counted += retry.counts ? 1 : 0;
            const auto factor = std::max<TimeMs>(retry.pause.count() / 10, 1);
            job.record.not_before = now + options_.first_pause.count() * factor;
            reason += "; it is tried again";
        }
    }
    if (!step(job, to, reason, now)) {
        job.record = before;
        return;
    }
    unplan(job, now,
           to == State::kSucceeded ? queue::Outcome::kCompleted : queue::Outcome::kFailed);
    job.runner.reset();
    job.announce.reset();
    log::info("job.ended", {{"job", job.record.id},
                            {"state", jobs::word(job.record.state)},
                            {"code", job.record.exit_code}});
}

/// Those that have ended go when their time to live is over, or when there are too many.
void Keeper::clean_up(TimeMs now) {
    constexpr std::size_t kAtOnce = 16;  // each is a write
    std::vector<JobId> gone;
    const std::size_t ended = jobs_.size() - living_;
    std::size_t surplus = ended > options_.most_ended ? ended - options_.most_ended : 0;
    for (const auto& [id, job] : jobs_) {
        if (gone.size() >= kAtOnce) break;
        if (!jobs::is_final(job.record.state)) continue;
        const bool over = now >= job.record.ended + job.record.request.ttl_seconds * 1000;
        if (!over && surplus == 0) continue;
        // Who comes after it has to know how it ended: the journal tells.
        surplus -= surplus > 0 ? 1 : 0;
        gone.push_back(id);
    }
    for (const JobId id : gone) {
        if (journal_.forget(id)) drop(id);
    }
}

}  // namespace aliquot::job_server
