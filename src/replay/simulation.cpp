// SPDX-License-Identifier: Apache-2.0
#include "replay/simulation.h"

#include <algorithm>
#include <cmath>
#include <queue>

#include "queue/planner.h"

namespace aliquot::replay {
namespace {

using queue::JobId;
using queue::Policy;

constexpr Time kSoonestAgain = 300'000;  // between two forecasts that are compared
constexpr std::size_t kFewestDue = 5;    // one of so many that wait has to be due

struct End {
    Time at = 0;
    std::size_t job = 0;
    unsigned start = 0;  // which start of the job it ends
    friend bool operator>(const End& a, const End& b) {
        return a.at != b.at ? a.at > b.at : a.job > b.job;
    }
};

std::uint64_t mixed(std::uint64_t x) {
    x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9ULL;
    x = (x ^ (x >> 27U)) * 0x94D049BB133111EBULL;
    return x ^ (x >> 31U);
}

/// How a job's GPUs are asked for: on as few nodes as they fit on, the same number on each.
void shape(queue::Job& job, const TraceJob& from, unsigned per_node) {
    unsigned each = 1;
    if (per_node > 0) {
        each = std::min(from.gpus, per_node);
        while (from.gpus % each != 0) --each;
    }
    job.request.gpus = static_cast<std::uint8_t>(each);
    job.request.milli = from.milli;
    job.gang = from.gpus / each;
}

class Play {
public:
    Play(const Trace& trace, const Setup& setup)
        : trace_(trace), setup_(setup), planner_(options(setup)) {}

    Result<Done> prepare();
    Result<Played> run();

private:
    static queue::Options options(const Setup& setup) {
        queue::Options chosen = setup.options;
        const bool oracle = chosen.policy == Policy::kSjf || chosen.policy == Policy::kSrtf;
        chosen.learn = setup.estimates != Estimates::kExact &&
                       (setup.estimates != Estimates::kPolicy || !oracle);
        return chosen;
    }
    [[nodiscard]] Time told_by_owner(std::size_t job) const;
    [[nodiscard]] Time expected(std::size_t job) const {
        return setup_.estimates == Estimates::kLimits ? 0 : told_by_owner(job);
    }
    Result<Done> submit(std::size_t job);
    Result<Done> end_all();
    Result<Done> decide();
    void foretell();
    [[nodiscard]] bool is_told_anew(std::size_t job) const;

    const Trace& trace_;
    const Setup& setup_;
    queue::Planner planner_;
    Played played_;
    std::vector<Time> left_;   // of each job's run
    std::vector<Time> since_;  // its latest start
    std::vector<unsigned> starts_;
    std::vector<std::size_t> watched_;  // jobs that wait and whose forecasts are compared
    std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
    Time now_ = 0;
    std::size_t every_ = 1;  // of how many jobs one is watched
    Time next_plan_ = queue::kNever;
};

Result<Done> Play::prepare() {
    if (setup_.gpus == 0 || setup_.gpus > kMostGpus)
        return Error{
            ErrorCode::kInvalidInput,
            std::to_string(setup_.gpus) + " GPUs, expected 1 to " + std::to_string(kMostGpus)};
    if (setup_.per_node > placement::kMostDevices)
        return Error{ErrorCode::kInvalidInput, std::to_string(setup_.per_node) +
                                                   " GPUs per node, expected at most " +
                                                   std::to_string(placement::kMostDevices)};
    const unsigned per_node = setup_.per_node == 0 ? placement::kMostDevices : setup_.per_node;
    for (unsigned made = 0; made < setup_.gpus; made += per_node) {
        auto added = planner_.add_node(
            {.name = "node-" + std::to_string(made / per_node),
             .devices = static_cast<std::uint8_t>(std::min(per_node, setup_.gpus - made)),
             .model = "GPU",
             .device_mib = 81'920});
        if (!added) return std::move(added).error();
    }
    for (const queue::Queue& queue : setup_.queues) {
        auto set = planner_.set_queue(queue);
        if (!set) return set;
    }
    for (const TraceJob& job : trace_.jobs) {
        played_.jobs.push_back({.submit = job.submit,
                                .run = job.duration,
                                .milli = static_cast<std::int64_t>(job.gpus) * job.milli});
        left_.push_back(job.duration);
    }
    if (setup_.forecasts > 0)
        every_ = std::max<std::size_t>(1, trace_.jobs.size() / setup_.forecasts);
    since_.resize(trace_.jobs.size());
    starts_.resize(trace_.jobs.size());
    played_.capacity_milli = planner_.devices().capacity_milli();
    return Done{};
}

Time Play::told_by_owner(std::size_t job) const {
    const Time exact = trace_.jobs[job].duration;
    switch (setup_.estimates) {
        case Estimates::kExact:
            return exact;
        case Estimates::kPadded:
        case Estimates::kLimits: {
            const double part =
                static_cast<double>(mixed(setup_.seed * 0x9E3779B97F4A7C15ULL + job) >> 11U) /
                9007199254740992.0;
            return std::max<Time>(exact,
                                  std::llround(static_cast<double>(exact) *
                                               (1 + part * (std::max(1.0, setup_.padding) - 1))));
        }
        case Estimates::kPolicy:
            return setup_.options.policy == Policy::kSjf || setup_.options.policy == Policy::kSrtf
                       ? exact
                       : 0;
        case Estimates::kHistory:
            break;
    }
    return 0;
}

Result<Done> Play::submit(std::size_t job) {
    const TraceJob& from = trace_.jobs[job];
    queue::Job wanted{.id = job + 1,
                      .queue = from.queue,
                      .user = from.user,
                      .name = from.name,
                      .priority = from.priority,
                      .submitted = from.submit,
                      .expected = expected(job)};
    if (setup_.estimates == Estimates::kLimits) wanted.limit = told_by_owner(job);
    shape(wanted, from, setup_.per_node);
    if (wanted.gang > placement::kMostGang || !planner_.could_ever_start(wanted)) {
        ++played_.too_large;
        return Done{};
    }
    return planner_.submit(wanted, now_);
}

Result<Done> Play::end_all() {
    while (!ends_.empty() && ends_.top().at <= now_) {
        const End end = ends_.top();
        ends_.pop();
        if (end.start != starts_[end.job]) continue;  // it was preempted before
        left_[end.job] = 0;
        played_.jobs[end.job].end = now_;
        auto ended = planner_.ended(end.job + 1, now_);
        if (!ended) return ended;
    }
    return Done{};
}

Result<Done> Play::decide() {
    // Each round ends somebody for a job that then starts; a plan without preemption is the last.
    for (std::size_t round = 0; round <= trace_.jobs.size(); ++round) {
        const queue::Plan plan = planner_.decide(now_);
        ++played_.plans;
        next_plan_ = plan.next;
        for (const queue::Start& start : plan.starts) {
            const std::size_t job = start.id - 1;
            if (played_.jobs[job].start < 0) played_.jobs[job].start = now_;
            since_[job] = now_;
            ++starts_[job];
            ends_.push({now_ + left_[job], job, starts_[job]});
        }
        if (plan.preempts.empty()) return Done{};
        for (const JobId id : plan.preempts) {
            const std::size_t job = id - 1;
            left_[job] = std::max<Time>(1, left_[job] - (now_ - since_[job]));
            ++starts_[job];
            ++played_.jobs[job].preempted;
            const bool knows = expected(job) > 0;
            auto again = planner_.requeue(id, now_, knows ? left_[job] : 0);
            if (!again) return again;
        }
    }
    return Error{ErrorCode::kInternal, "the planner preempts without end"};
}

bool Play::is_told_anew(std::size_t job) const {
    const JobRun& run = played_.jobs[job];
    if (run.told.empty()) return true;
    const Time waited = run.told.back().at - run.submit;
    return now_ - run.submit >= std::max(waited + waited / 4, waited + kSoonestAgain);
}

void Play::foretell() {
    std::erase_if(watched_, [&](std::size_t job) { return played_.jobs[job].start >= 0; });
    const auto due = std::count_if(watched_.begin(), watched_.end(),
                                   [&](std::size_t job) { return is_told_anew(job); });
    const bool fresh = std::any_of(watched_.begin(), watched_.end(),
                                   [&](std::size_t job) { return played_.jobs[job].told.empty(); });
    // A forecast costs as much as the queue is long.
    if (!fresh && static_cast<std::size_t>(due) * kFewestDue <= watched_.size()) return;
    for (const queue::Eta& eta : planner_.forecast(now_)) {
        const std::size_t job = eta.id - 1;
        JobRun& run = played_.jobs[job];
        if (eta.p50 == queue::kNever || job % every_ != 0 || !is_told_anew(job)) continue;
        run.told.push_back({now_, eta.p50, eta.p90});
    }
}

Result<Played> Play::run() {
    std::size_t next = 0;
    while (next < trace_.jobs.size() || planner_.running() > 0 || planner_.waiting() > 0) {
        Time at = next < trace_.jobs.size() ? trace_.jobs[next].submit : queue::kNever;
        if (!ends_.empty()) at = std::min(at, ends_.top().at);
        if (next_plan_ != queue::kNever) at = std::min(at, std::max(next_plan_, now_ + 1));
        if (at == queue::kNever) break;  // what waits never fits
        if (planner_.running() > 0 || planner_.waiting() > 0) played_.busy += at - now_;
        now_ = at;
        auto done = end_all();
        for (; done.ok() && next < trace_.jobs.size() && trace_.jobs[next].submit <= now_; ++next) {
            done = submit(next);
            if (setup_.forecasts > 0 && next % every_ == 0) watched_.push_back(next);
        }
        if (done.ok()) done = decide();
        if (!done) return std::move(done).error();
        if (!watched_.empty()) foretell();
    }
    for (const JobRun& job : played_.jobs) played_.makespan = std::max(played_.makespan, job.end);
    return std::move(played_);
}

}  // namespace

Result<Played> play(const Trace& trace, const Setup& setup) {
    Play play(trace, setup);
    auto prepared = play.prepare();
    if (!prepared) return std::move(prepared).error();
    return play.run();
}

}  // namespace aliquot::replay
