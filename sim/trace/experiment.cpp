// SPDX-License-Identifier: Apache-2.0
#include "sim/trace/experiment.h"

#include <algorithm>
#include <chrono>
#include <ostream>
#include <unordered_map>

#include "sim/trace/event_log.h"
#include "sim/trace/unusable.h"

namespace aliquot::sim::trace {
namespace {

using Clock = std::chrono::steady_clock;

class Experiment {
public:
    Experiment(const Scenario& scenario, const ExperimentOptions& options, Replay& replay)
        : scenario_(scenario),
          options_(options),
          replay_(replay),
          curve_(replay.engine().capacity_milli()),
          meter_(replay.engine(), scenario.nodes.geometries) {
        if (options.log != nullptr) log_.emplace(*options.log, scenario, replay.engine());
    }

    Result<Outcome> run() {
        constexpr std::size_t kProgressEach = 256;
        const std::size_t all = scenario_.order.arrivals.size();
        while (!replay_.done()) {
            if (options_.progress && replay_.position() % kProgressEach == 0) {
                options_.progress(replay_.position(), all);
            }
            const auto start = Clock::now();
            auto step = replay_.step();
            spent_ += Clock::now() - start;
            if (!step) return std::move(step).error();
            account(*step);
        }
        if (options_.progress) options_.progress(all, all);
        if (options_.log != nullptr && !options_.log->flush()) {
            return Error{ErrorCode::kUnavailable, "the log cannot be written"};
        }
        return outcome();
    }

private:
    [[nodiscard]] bool wants_fragmentation(std::int64_t bucket) const {
        if (options_.whole_curve) return true;
        return std::any_of(options_.at.begin(), options_.at.end(), [&](std::int64_t load) {
            return bucket >= load - 1 && bucket <= load + 1;  // neighbours stand in for it
        });
    }

    void note_touched(const Replay::Step& step) {
        for (const placement::PlacementId id : step.left) {
            const auto where = node_of_.find(id);
            if (where == node_of_.end()) continue;
            meter_.touched(where->second);
            node_of_.erase(where);
            ++departed_;
        }
        for (const placement::Placement& place : step.places) {
            meter_.touched(place.node);
            if (options_.replay.departures) node_of_[place.id] = place.node;
        }
        for (const auto* waited : {&step.patient, &step.late}) {
            for (const Replay::Step::Late& late : *waited) {
                meter_.touched(late.place.node);
                ++late_;
                if (options_.replay.departures) node_of_[late.place.id] = late.place.node;
            }
        }
        if (step.waits) ++waited_;
        if (!step.moved) return;
        meter_.all_touched();
        for (auto& [id, node] : node_of_) {
            const auto now = replay_.engine().placement_of(id);
            if (now) node = now->node;
        }
    }

    void account(const Replay::Step& step) {
        note_touched(step);
        if (log_) log_->write(step);
        const placement::Engine& engine = replay_.engine();
        const std::int64_t free = engine.free_milli();
        const std::int64_t bucket = curve_.bucket_of(replay_.arrived_milli());
        peak_ = std::max(peak_, engine.capacity_milli() - free);
        curve_.add(bucket, engine.capacity_milli() - free);
        if (wants_fragmentation(bucket)) curve_.add_fragmentation(bucket, meter_.milli(), free);
    }

    [[nodiscard]] Outcome outcome() const {
        const placement::Engine& engine = replay_.engine();
        Outcome outcome;
        outcome.policy = options_.replay.policy;
        outcome.arrivals = scenario_.order.arrivals.size();
        outcome.placed = replay_.placed();
        for (const std::int64_t load : options_.at) outcome.at.emplace_back(load, curve_.at(load));
        outcome.curve = curve_.points();
        outcome.capacity_milli = engine.capacity_milli();
        outcome.arrived_milli = replay_.arrived_milli();
        outcome.free_milli = engine.free_milli();
        outcome.peak_milli = peak_;
        if (replay_.migration() != nullptr) {
            outcome.migrations = replay_.migration()->moved();
            outcome.gained_milli = replay_.migration()->gained_milli();
        }
        if (options_.replay.patience > 0) outcome.waited = waited_;
        outcome.placed_late = late_;
        if (options_.replay.departures) outcome.departed = departed_;
        outcome.seconds = std::chrono::duration<double>(spent_).count();
        return outcome;
    }

    const Scenario& scenario_;
    const ExperimentOptions& options_;
    Replay& replay_;
    LoadCurve curve_;
    FragmentationMeter meter_;
    std::optional<EventLog> log_;
    std::unordered_map<placement::PlacementId, placement::NodeId> node_of_;  // with departures
    std::int64_t departed_ = 0;
    std::int64_t late_ = 0;
    std::int64_t waited_ = 0;
    std::int64_t peak_ = 0;
    Clock::duration spent_{};
};

}  // namespace

Result<Outcome> run_experiment(const Scenario& scenario, const ExperimentOptions& options) {
    auto replay = Replay::start(scenario, options.replay);
    if (!replay) return std::move(replay).error();
    return Experiment(scenario, options, *replay).run();
}

}  // namespace aliquot::sim::trace
