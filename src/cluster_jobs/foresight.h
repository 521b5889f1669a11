// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "queue/planner.h"

namespace aliquot::cluster_jobs {

/// A queue with what it may use of GPUs.
struct QueueOffer {
    std::string name;
    std::string cohort;
    std::optional<std::uint64_t> quota;   // GPUs; nullopt: no limit of ours
    std::optional<std::uint64_t> borrow;  // beyond it; nullopt: what is idle
    friend bool operator==(const QueueOffer&, const QueueOffer&) = default;
};

/// A job as the cluster shows it now.
struct Task {
    std::string uid;
    std::string queue;  // of QueueOffer
    std::string user;
    std::string name;  // what its run time is predicted by
    std::int32_t priority = 0;
    std::uint32_t pods = 1;
    std::uint32_t gpus = 1;   // of each pod
    queue::Time created = 0;  // ms since 1970
    queue::Time limit = 0;    // ms; 0: none
    std::optional<queue::Time> runs_since;
    bool is_gated = false;  // by us: it waits until we let it go
    bool is_held = false;   // by its user, or it comes after another: not to be planned
};

struct Foreseen {
    std::string uid;
    std::uint32_t position = 0;
    std::optional<queue::Time> p50;  // nullopt: not with what there is
    std::optional<queue::Time> p90;
    bool is_let_go = false;  // it may leave our gate now
    std::string why;         // one sentence
    std::string smaller;     // "--gpu 1": what would start now
};

/// Plays the cluster's queue forward with src/queue: who starts next, when the others will, and which gated job may be
/// let go without delaying those that wait before it. Pure but for what it remembers of looks before: how long
/// jobs ran, and how earlier promises came true. Not thread-safe.
class Foresight {
public:
    /// What is released without progress for so long is released whatever the plan says: a planner that is wrong must not
    /// hold a cluster.
    static constexpr queue::Time kLongestHold = 30LL * 60 * 1000;

    /// GPUs by node.
    void set_nodes(const std::map<std::string, std::uint32_t>& gpus);
    void set_queues(const std::vector<QueueOffer>& queues);
    /// All jobs that wait or run; those that were there before and are not any more have ended.
    /// ended     by uid: how those ended that did; others were deleted
    std::vector<Foreseen> look(const std::vector<Task>& tasks,
                               const std::map<std::string, queue::Outcome>& ended, queue::Time now);

private:
    struct Known {
        queue::JobId id = 0;
        bool runs = false;          // as the planner has it
        queue::Time let_go_at = 0;  // by the planner; 0: not yet
        bool has_no_room = false;   // it runs where the books have no room: not in the planner
        queue::Time waits_since = 0;
    };
    void rebuild();
    void take(const Task& task, queue::Time now);
    [[nodiscard]] static queue::Job job_of(const Task& task, queue::JobId id);
    Foreseen foreseen(const Task& task, const Known& known, queue::Time now);

    queue::Planner planner_;
    std::map<std::string, std::uint32_t> nodes_;
    std::vector<QueueOffer> queues_;
    std::map<std::string, Known> known_;  // by uid
    queue::JobId latest_ = 0;
    queue::Time progress_at_ = 0;  // something started or ended
};

}  // namespace aliquot::cluster_jobs
