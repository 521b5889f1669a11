// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <queue>
#include <utility>
#include <vector>

#include "base/result.h"
#include "placement/engine.h"
#include "placement/migration.h"
#include "sim/trace/node_list.h"
#include "sim/trace/order.h"
#include "sim/trace/task_list.h"

namespace aliquot::sim::trace {

/// What is replayed: a cluster, its tasks, and when they come.
struct Scenario {
    NodeList nodes;
    TaskList tasks;
    Order order;
    std::vector<placement::TaskType> workload;  // to keep room for; unused when it is learned
};

struct ReplayOptions {
    placement::Policy policy = placement::Policy::kAliquot;
    std::uint64_t seed = 1;   // of Policy::kRandom alone
    bool departures = false;  // tasks leave at their deletion time; arrivals are by creation time
    bool learn = false;       // the workload from what arrives, not from the scenario
    double migrate_share =
        0;  // moves at most this share of the arrivals, each once; above 0: refused tasks wait
    std::size_t patience = 0;  // arrivals for which a task waits for a place that wastes nothing
};

/// Says that every task may be moved unless the task list says otherwise.
void make_movable(TaskList& tasks);

/// Gives one arrival after another to the engine. A task that fits nowhere is dropped; where tasks
/// may be moved it waits instead (a gang does not), and every now and then moves make room for those
/// that wait. With patience a task that fits may wait, too, for a place that wastes nothing
/// (placement::had_better_wait); when its patience is at an end it takes the best place there is.
class Replay {
public:
    /// One arrival, decided.
    struct Step {
        std::size_t arrival = 0;                   // from 0
        std::uint32_t row = 0;                     // of the task
        std::vector<placement::Placement> places;  // one for each of a gang; none: dropped
        std::vector<placement::PlacementId> left;  // those that ended before this arrival
        bool waits = false;                        // it would fit, but waits for a better place
        bool moved = false;                        // the engine moved other tasks to make room
        /// A task that came earlier.
        struct Late {
            std::size_t arrival = 0;
            std::uint32_t row = 0;
            placement::Placement place;
        };
        std::vector<Late> patient;  // had waited for a better place; placed before this arrival
        std::vector<Late> late;     // had been refused; placed after the moves
    };

    /// scenario   must outlive the replay
    /// errors     kInvalidInput: what the engine refuses of the nodes
    static Result<Replay> start(const Scenario& scenario, const ReplayOptions& options);

    [[nodiscard]] bool done() const { return next_ == scenario_->order.arrivals.size(); }
    [[nodiscard]] std::size_t position() const { return next_; }

    /// Lets go what ends before the next arrival, then decides it. Not after the last one.
    /// errors   kInvalidInput, kInternal: the engine could not even consider the task
    Result<Step> step();

    /// Does what comes before the next arrival, without deciding it: lets go what has ended, and places
    /// those whose patience is at an end.
    /// errors   as step()
    Result<Done> settle_before_next();

    /// GPU compute of what has arrived (and, with departures, has not ended), placed or not.
    [[nodiscard]] std::int64_t arrived_milli() const { return arrived_; }
    [[nodiscard]] std::int64_t placed() const { return placed_; }
    [[nodiscard]] placement::Engine& engine() { return *engine_; }
    [[nodiscard]] const placement::Engine& engine() const { return *engine_; }
    [[nodiscard]] const placement::Migration* migration() const { return migration_.get(); }

private:
    struct End {
        std::int64_t second = 0;
        std::uint64_t number = 0;  // order among equals
        std::int64_t milli = 0;
        std::vector<placement::PlacementId> ids;  // none: it was dropped
        friend bool operator>(const End& a, const End& b) {
            return a.second != b.second ? a.second > b.second : a.number > b.number;
        }
    };

    Replay(const Scenario& scenario, const ReplayOptions& options);
    std::vector<placement::PlacementId> leave_before_next();
    Result<std::vector<placement::Placement>> place(const Task& task);
    Result<Done> decide(Step& step, const Task& task);
    [[nodiscard]] bool is_over(std::uint32_t row, std::int64_t now) const;
    void end_late(const Step::Late& late);
    Result<Done> end_patience(Step& step);
    void wait(std::size_t arrival, std::uint32_t row);
    Result<Done> make_room(Step& step);

    const Scenario* scenario_;
    bool departures_;
    std::unique_ptr<placement::Engine> engine_;  // stays where it is: the planner refers to it
    std::unique_ptr<placement::Migration> migration_;
    std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
    // Refused tasks by kind, in the order of their arrival; only with migration.
    struct Queue {
        placement::Request request;
        std::deque<std::pair<std::size_t, std::uint32_t>> tasks;  // arrival, row
    };
    std::vector<Queue> queues_;
    std::size_t patience_;
    std::deque<std::pair<std::size_t, std::uint32_t>> patient_;  // arrival, row
    std::uint64_t departures_seen_ = 0;  // when those that are patient were last looked at
    std::int64_t waiting_milli_ = 0;
    std::int64_t next_round_ = 0;  // when so much waits
    std::size_t next_ = 0;
    std::int64_t arrived_ = 0;
    std::int64_t placed_ = 0;
};

}  // namespace aliquot::sim::trace
