// SPDX-License-Identifier: Apache-2.0
#include "sim/trace/replay.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "placement/patience.h"
#include "sim/trace/published_scorer.h"

namespace aliquot::sim::trace {

namespace {

/// Refused GPU compute that is worth a first round of moves: 1 % of what the cluster has.
std::int64_t first_round(const placement::Engine& engine) {
    return std::max<std::int64_t>(engine.capacity_milli() / 100, 1);
}

}  // namespace

void make_movable(TaskList& tasks) {
    for (Task& task : tasks.tasks) task.request.movable = task.movable.value_or(true);
}

Replay::Replay(const Scenario& scenario, const ReplayOptions& options)
    : scenario_(&scenario), departures_(options.departures), patience_(options.patience) {
    placement::Options engine;
    engine.policy = options.policy;
    engine.published = published_scorer;
    engine.seed = options.seed;
    engine.learn = options.learn;
    engine_ = std::make_unique<placement::Engine>(engine);
}

Result<Replay> Replay::start(const Scenario& scenario, const ReplayOptions& options) {
    Replay replay(scenario, options);
    for (const placement::MigGeometry& geometry : scenario.nodes.geometries) {
        auto added = replay.engine_->add_geometry(geometry);
        if (!added) return std::move(added).error();
    }
    for (std::size_t row = 0; row < scenario.nodes.nodes.size(); ++row) {
        placement::NodeSpec spec = scenario.nodes.nodes[row];
        if (!scenario.order.ranks.empty()) spec.rank = scenario.order.ranks[row];
        auto added = replay.engine_->add_node(std::move(spec));
        if (!added) return std::move(added).error();
    }
    if (!options.learn) replay.engine_->set_workload(scenario.workload);
    if (options.migrate_share > 0) {
        const double most =
            options.migrate_share * static_cast<double>(scenario.order.arrivals.size());
        placement::MigrationLimits limits;
        limits.most_moves = static_cast<std::uint32_t>(std::floor(most * (1 + 1e-12)));
        replay.next_round_ = first_round(*replay.engine_);
        replay.migration_ = std::make_unique<placement::Migration>(*replay.engine_, limits);
    }
    return replay;
}

std::vector<placement::PlacementId> Replay::leave_before_next() {
    std::vector<placement::PlacementId> left;
    if (!departures_ || done()) return left;
    const std::int64_t now = scenario_->tasks.tasks[scenario_->order.arrivals[next_]].creation;
    while (!ends_.empty() && ends_.top().second <= now) {
        const End& end = ends_.top();
        for (const placement::PlacementId id : end.ids) {
            if (engine_->release(id)) left.push_back(id);
        }
        arrived_ -= end.milli;
        ends_.pop();
    }
    return left;
}

Result<std::vector<placement::Placement>> Replay::place(const Task& task) {
    if (task.count > 1) return engine_->place_gang(task.request, task.count);
    auto one = engine_->place(task.request);
    if (!one) return std::move(one).error();
    std::vector<placement::Placement> places;
    places.push_back(*std::move(one));
    return places;
}

/// It has an end, and that has come while it waited.
bool Replay::is_over(std::uint32_t row, std::int64_t now) const {
    return departures_ && scenario_->tasks.tasks[row].deletion.value_or(now + 1) <= now;
}

/// One that was placed later than it came ends at its time; its demand has been taken off already or will be.
void Replay::end_late(const Step::Late& late) {
    ++placed_;
    const auto& deletion = scenario_->tasks.tasks[late.row].deletion;
    if (!departures_ || !deletion) return;
    ends_.push({.second = *deletion, .number = late.arrival, .milli = 0, .ids = {late.place.id}});
}

/// Places those whose patience is at an end and, where something left, those that need not wait any more.
Result<Done> Replay::end_patience(Step& step) {
    const bool left = engine_->departures() != departures_seen_;
    departures_seen_ = engine_->departures();
    const std::int64_t now = scenario_->tasks.tasks[step.row].creation;
    std::vector<placement::Request> hopeless;  // kinds that still had better wait
    for (auto one = patient_.begin(); one != patient_.end();) {
        const auto [arrival, row] = *one;
        const placement::Request& request = scenario_->tasks.tasks[row].request;
        const bool over = is_over(row, now);
        const bool is_due = arrival + patience_ <= step.arrival;
        if (!over && !is_due) {
            if (!left) break;  // they stand in the order of their arrival
            if (std::find(hopeless.begin(), hopeless.end(), request) != hopeless.end()) {
                ++one;
                continue;
            }
            if (placement::had_better_wait(*engine_, request)) {
                hopeless.push_back(request);
                ++one;
                continue;
            }
        }
        one = patient_.erase(one);
        if (over) continue;
        auto placed = engine_->place(request);
        if (placed) {
            step.patient.push_back({arrival, row, *std::move(placed)});
            end_late(step.patient.back());
        } else if (placed.error().code != ErrorCode::kUnavailable) {
            return std::move(placed).error();
        } else if (migration_) {
            wait(arrival, row);
        }
    }
    return Done{};
}

void Replay::wait(std::size_t arrival, std::uint32_t row) {
    const Task& task = scenario_->tasks.tasks[row];
    auto queue = std::find_if(queues_.begin(), queues_.end(),
                              [&](const Queue& one) { return one.request == task.request; });
    if (queue == queues_.end()) queue = queues_.insert(queue, {task.request, {}});
    queue->tasks.emplace_back(arrival, row);
    waiting_milli_ += task.gpu_milli();
}

/// Moves tasks for those that wait, once twice as many wait as after the last time.
Result<Done> Replay::make_room(Step& step) {
    if (waiting_milli_ < next_round_) return Done{};
    const auto& tasks = scenario_->tasks.tasks;
    const std::int64_t now = tasks[step.row].creation;
    std::vector<placement::Waiting> waiting;
    for (Queue& queue : queues_) {
        std::erase_if(queue.tasks, [&](const auto& task) {
            const bool over = is_over(task.second, now);
            if (over) waiting_milli_ -= tasks[task.second].gpu_milli();
            return over;
        });
        waiting.push_back({queue.request, static_cast<std::uint32_t>(queue.tasks.size())});
    }
    auto room = migration_->make_room(waiting);
    if (!room) return std::move(room).error();
    step.moved = room->moves > 0;
    for (auto& placed : room->placed) {
        auto& queue = queues_[placed.waiting].tasks;
        const auto [arrival, row] = queue.front();
        queue.pop_front();
        waiting_milli_ -= tasks[row].gpu_milli();
        step.late.push_back({arrival, row, std::move(placed.placement)});
        end_late(step.late.back());
    }
    next_round_ = std::max(2 * waiting_milli_, first_round(*engine_));
    return Done{};
}

Result<Done> Replay::decide(Step& step, const Task& task) {
    auto places = place(task);
    if (places) {
        step.places = *std::move(places);
        ++placed_;
        return Done{};
    }
    if (places.error().code != ErrorCode::kUnavailable) {
        return std::move(places).error().during("task " + task.name);
    }
    if (!migration_ || task.count != 1 || task.gpu_milli() == 0) return Done{};
    wait(step.arrival, step.row);
    return make_room(step);
}

Result<Done> Replay::settle_before_next() {
    if (done()) return Done{};
    (void)leave_before_next();
    Step step{.arrival = next_, .row = scenario_->order.arrivals[next_]};
    return end_patience(step);
}

Result<Replay::Step> Replay::step() {
    Step step;
    step.left = leave_before_next();
    step.arrival = next_;
    step.row = scenario_->order.arrivals[next_++];
    const Task& task = scenario_->tasks.tasks[step.row];
    arrived_ += task.gpu_milli();
    if (auto done = end_patience(step); !done) return std::move(done).error();
    step.waits =
        patience_ > 0 && task.count == 1 && placement::had_better_wait(*engine_, task.request);
    if (step.waits) {
        patient_.emplace_back(step.arrival, step.row);
    } else if (auto done = decide(step, task); !done) {
        return std::move(done).error();
    }
    if (departures_ && task.deletion) {
        End end{
            .second = *task.deletion, .number = step.arrival, .milli = task.gpu_milli(), .ids = {}};
        for (const placement::Placement& place : step.places) end.ids.push_back(place.id);
        ends_.push(std::move(end));
    }
    return step;
}

}  // namespace aliquot::sim::trace
