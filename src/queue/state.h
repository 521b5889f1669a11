// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "queue/calibration.h"
#include "queue/queue.h"
#include "queue/quotas.h"
#include "queue/room.h"
#include "queue/run_times.h"
#include "queue/survival.h"
#include "queue/usage.h"

namespace aliquot::queue {

using Slot = std::uint32_t;  // index of a record
using LineId = std::uint32_t;
inline constexpr Slot kNoSlot = UINT32_MAX;

/// A job that waits or runs.
struct Record {
    JobId id = 0;
    std::int64_t rank = 0;  // among jobs of its line: submission, or what the policy orders by
    Time submitted = 0;
    Time limit = 0;
    Time expected = 0;
    AskId ask = 0;
    QueueId queue = 0;
    std::uint32_t account = 0;  // of its user in its queue
    RunTimes::Key key = 0;
    Time by_history = 0;  // its run, as was thought at its submission; 0: nothing was known
    Time by_limit = 0;
    LineId line = 0;
    std::int32_t priority = 0;
    bool preemptible = true;
    bool runs = false;
    bool leaving = false;  // preempted, and not gone yet
    Time done = 0;         // of its run, before it was ended by kSrtf, which loses nothing
    Time foreseen = -1;    // wait, by the first forecast; -1: there was none
    Time foreseen_at = 0;
    Time promised =
        0;    // the late start of that forecast; 0: none, or its time is over and it was judged
    Eta eta;  // of the latest forecast
    // While it runs:
    Time since = 0;
    Time ends = 0;     // predicted
    double worth = 0;  // what its accounts were charged
    std::int64_t milli = 0;
    std::vector<placement::Placement> where;
};

struct Entry {
    std::int64_t rank = 0;
    JobId id = 0;
    Slot slot = kNoSlot;
    friend auto operator<=>(const Entry&, const Entry&) = default;
};

/// Waiting jobs of one line that ask alike.
struct Bucket {
    AskId ask = 0;
    std::set<Entry> jobs;
    std::set<Entry>::const_iterator next;  // of the walk that goes on
    bool closed = false;                   // to the walk that goes on
};

/// Waiting jobs of one user in one queue with one priority.
struct Line {
    std::int32_t priority = 0;
    QueueId queue = 0;
    std::uint32_t account = 0;
    std::size_t count = 0;
    bool idle = false;  // none of its jobs can start before something is freed
    std::vector<Bucket> buckets;
};

/// What a blocked job keeps from the jobs behind it: devices and quota as they will be at `at`.
struct Held {
    Slot slot = kNoSlot;
    Time at = 0;
    Nodes
        nodes;  // at `at`, with this job and those held before it on them; empty: devices do not block it
    std::vector<PodSpot> spots;
    QueueId queue = 0;
    PoolId pool = 0;
    std::int64_t queue_spare = INT64_MAX;  // quota left at `at` beside it
    std::int64_t pool_spare = INT64_MAX;
};

/// All that a planner knows.
struct State {
    explicit State(Options chosen);

    // planner.cpp: what comes and goes
    Result<Slot> enter(const Job& job, Time now);
    void wait(Slot slot);
    void stop_waiting(Slot slot);
    void run(Slot slot, std::vector<placement::Placement> where, Time since);
    void stop_running(Slot slot);
    void forget(Slot slot);
    LineId line_of(const Record& record);
    void see(Time at);

    // prediction.cpp: how long
    [[nodiscard]] Estimate estimate(const Record& record, Time elapsed) const;
    [[nodiscard]] Time predicted(const Record& record) const;  // whole run, before it starts
    [[nodiscard]] Time ends_of(const Record& record, Time now) const;
    /// How long its owner says that it runs, by its limit too where limits have told more than history; 0: nothing.
    [[nodiscard]] Time declared(const Record& record) const;
    void think_of(Record& record) const;
    void learn_from(const Record& record);
    void extend_overruns();
    void expect_end(Slot slot, Time ends);

    // decide.cpp, hold.cpp, reclaim.cpp: who starts
    Plan decide();
    void start(Slot slot, std::vector<placement::Placement> where, Plan& plan);
    void serve_waiting(Plan& plan);
    void backfill(std::vector<Slot> window, Plan& plan);
    /// Keeps devices and quota for a blocked job from when it can have them.
    void hold(Slot slot, bool devices);
    bool hold_devices(const Ask& ask, Held& mine) const;
    /// When quota is free for it, beside those held before, and from mine.at on; sets what is spare then.
    Time quota_free_at(const Record& record, Held& mine) const;
    [[nodiscard]] bool is_beside_held(const Record& record) const;
    /// It may take its quota until `ends` without delaying those held.
    [[nodiscard]] bool spares_quota(const Record& record, Time ends) const;
    /// Takes the place in what is held, too; false: it would delay one, and nothing changed.
    bool take_from_held(const Record& record, Time ends,
                        const std::vector<placement::Placement>& where);
    std::vector<placement::Placement> place_beside_held(const Record& record, Time ends);

    // preempt.cpp: who has to go
    /// Names those whose end makes room for it; false: none may be ended for it.
    [[nodiscard]] std::vector<Slot> candidates_for(const Record& record) const;
    bool preempt_for(Slot slot, Plan& plan);

    // forecast.cpp: when
    std::vector<Slot> order();
    /// place   0..1, among the runs that are possible; nullopt: their mean
    [[nodiscard]] Time rest_of(const Record& record, Survival& survival,
                               std::optional<double> place) const;
    [[nodiscard]] std::vector<Time> starts_when(
        const std::vector<Slot>& slots, const std::function<Time(const Record&)>& rest) const;
    [[nodiscard]] std::vector<Time> starts_by_limits(const std::vector<Slot>& slots) const;
    std::vector<Eta> forecast();

    // explain.cpp: why not yet
    Explanation explain(Slot slot);
    void name_holders(const Record& record, Explanation& made) const;
    [[nodiscard]] std::optional<Explanation::Smaller> smaller(Slot slot) const;
    /// What is free now and stays free for a run until `ends`, beside what is held.
    [[nodiscard]] Nodes free_beside_held(Time ends, Slot except = kNoSlot) const;

    [[nodiscard]] bool preempts() const {
        return options.policy == Policy::kSrtf || (is_ours() && options.reclaim);
    }
    [[nodiscard]] bool is_ours() const { return options.policy == Policy::kAliquot; }
    [[nodiscard]] bool keeps_reservations() const {
        return is_ours() || options.policy == Policy::kEasy;
    }

    Options options;
    Room room;
    Quotas quotas;
    RunTimes run_times;
    double history_off = 0;  // by how much they missed, as a logarithm, of late
    double limit_off = 0;
    unsigned compared = 0;
    Usage usage;
    std::vector<std::uint32_t> queue_accounts;  // by QueueId
    std::unordered_map<std::string, std::uint32_t> user_accounts;
    std::string text;  // room for a key

    Time now = 0;
    std::vector<Record> records;
    std::vector<Slot> unused;
    std::unordered_map<JobId, Slot> by_id;
    std::vector<Line> lines;
    std::vector<LineId> unused_lines;
    std::map<std::tuple<std::int32_t, QueueId, std::uint32_t>, LineId> line_ids;
    std::set<std::pair<Time, Slot>> running;               // by predicted end
    std::vector<std::set<std::pair<Time, Slot>>> in_pool;  // the same, by pool
    std::size_t waiting_count = 0;

    Calibration calibration;
    std::vector<Held> held;
    std::size_t holds_of_devices = 0;
    bool changed = false;  // a plan may start something
    bool afresh = false;   // what is held has to be computed anew
};

}  // namespace aliquot::queue
