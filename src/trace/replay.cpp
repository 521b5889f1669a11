// SPDX-License-Identifier: Apache-2.0
#include "trace/replay.h"

#include <cmath>
#include <utility>

namespace aliquot::trace {

void make_movable(TaskList& tasks) {
    for (Task& task : tasks.tasks) task.request.movable = task.movable.value_or(true);
}

Replay::Replay(const Scenario& scenario, const ReplayOptions& options)
    : scenario_(&scenario), departures_(options.departures) {
    placement::Options engine;
    engine.policy = options.policy;
    engine.seed = options.seed;
    engine.learn = options.learn;
    engine_ = std::make_unique<placement::Engine>(std::move(engine));
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
    auto one = migration_ ? migration_->place(task.request) : engine_->place(task.request);
    if (!one) return std::move(one).error();
    std::vector<placement::Placement> places;
    places.push_back(*std::move(one));
    return places;
}

Result<Replay::Step> Replay::step() {
    Step step;
    step.left = leave_before_next();
    step.arrival = next_;
    step.row = scenario_->order.arrivals[next_++];
    const Task& task = scenario_->tasks.tasks[step.row];
    arrived_ += task.gpu_milli();
    const std::uint32_t moved_before = migration_ ? migration_->moved() : 0;
    auto places = place(task);
    if (!places && places.error().code != ErrorCode::kUnavailable) {
        return std::move(places).error().during("task " + task.name);
    }
    if (places) {
        step.places = *std::move(places);
        ++placed_;
    }
    step.moved = migration_ && migration_->moved() != moved_before;
    if (departures_ && task.deletion) {
        End end{
            .second = *task.deletion, .number = step.arrival, .milli = task.gpu_milli(), .ids = {}};
        for (const placement::Placement& place : step.places) end.ids.push_back(place.id);
        ends_.push(std::move(end));
    }
    return step;
}

}  // namespace aliquot::trace
