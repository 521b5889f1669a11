// SPDX-License-Identifier: Apache-2.0
#include "sim/trace/explanation.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "base/nearest_word.h"
#include "base/number.h"
#include "placement/patience.h"
#include "sim/trace/csv.h"
#include "sim/trace/unusable.h"

namespace aliquot::sim::trace {
namespace {

using placement::DeviceState;
using placement::kWholeGpu;
using placement::MigProfile;
using placement::NodeState;
using placement::Placement;
using placement::Request;

constexpr std::size_t kMostEffects = 4;

unsigned slices_of(const Scenario& scenario, const std::string& model, const Request& request) {
    for (const placement::MigGeometry& geometry : scenario.nodes.geometries) {
        if (geometry.model != model) continue;
        for (const MigProfile& profile : geometry.profiles) {
            if (profile.name == request.mig_profile) return (1U << profile.width) - 1U;
        }
    }
    return 0;
}

/// The state of a node once a request is placed there.
NodeState after(const Scenario& scenario, const placement::NodeSpec& spec, NodeState state,
                const Request& request, const Placement& place) {
    state.cpu_milli -= request.cpu_milli;
    state.memory_mib -= request.memory_mib;
    for (const std::uint8_t index : place.devices) {
        DeviceState& device = state.devices[index];
        if (device.mig) {
            const unsigned slices = slices_of(scenario, spec.model, request) << place.mig_start;
            device.mig_mask = static_cast<std::uint8_t>(device.mig_mask | slices);
        } else if (request.milli == kWholeGpu) {
            device.milli = 0;
            device.mib = 0;
        } else {
            device.milli -= request.milli;
            device.mib -= request.mib;
        }
    }
    return state;
}

Choice choice_of(const Scenario& scenario, const placement::Engine& engine, const Request& request,
                 const Placement& place) {
    Choice choice{.place = place, .before = engine.state(place.node)};
    const placement::NodeSpec& spec = engine.node(place.node);
    const NodeState then = after(scenario, spec, choice.before, request, place);
    for (const placement::TaskType& type : engine.workload()) {
        const auto& geometries = scenario.nodes.geometries;
        const double change = unusable_milli(spec, then, type.request, geometries) -
                              unusable_milli(spec, choice.before, type.request, geometries);
        choice.fragmentation_milli += type.popularity * change;
        if (change == 0 || type.request.gpus == 0 || type.popularity == 0) continue;
        choice.effects.push_back({type.request, type.popularity, change});
    }
    std::stable_sort(choice.effects.begin(), choice.effects.end(),
                     [](const auto& a, const auto& b) {
                         return a.popularity * std::abs(a.milli) > b.popularity * std::abs(b.milli);
                     });
    if (choice.effects.size() > kMostEffects) choice.effects.resize(kMostEffects);
    return choice;
}

/// Places all members or none, like the engine does, and remembers how far it came.
Result<Done> decide(placement::Engine& engine, const Task& task, Explanation& told) {
    for (std::uint32_t i = 0; i < task.count; ++i) {
        auto place = engine.place(task.request);
        if (place) {
            told.places.push_back(*std::move(place));
            continue;
        }
        if (place.error().code != ErrorCode::kUnavailable) return std::move(place).error();
        told.fitting = i;
        told.refusal = engine.refusal(task.request);
        told.places.clear();
        return Done{};
    }
    return Done{};
}

Result<std::size_t> position_of(const Scenario& scenario, const Question& question) {
    const auto& arrivals = scenario.order.arrivals;
    if (question.after) {
        if (*question.after <= arrivals.size()) return *question.after;
        return Error{ErrorCode::kNotFound, "--after " + std::to_string(*question.after) +
                                               ": there are " + std::to_string(arrivals.size()) +
                                               " arrivals"};
    }
    const auto found = std::find(arrivals.begin(), arrivals.end(), question.row);
    if (found != arrivals.end()) return static_cast<std::size_t>(found - arrivals.begin());
    return Error{ErrorCode::kNotFound,
                 "task " + shown(scenario.tasks.tasks[question.row].name) + " is not among the " +
                     std::to_string(arrivals.size()) +
                     " arrivals; say --after N to ask what it would get after N of them"};
}

}  // namespace

Result<std::uint32_t> find_task(const TaskList& tasks, const std::string& word) {
    for (std::size_t row = 0; row < tasks.tasks.size(); ++row) {
        if (tasks.tasks[row].name == word) return static_cast<std::uint32_t>(row);
    }
    if (const auto row = parse_number<std::uint32_t>(word)) {
        if (*row < tasks.tasks.size()) return *row;
        return Error{ErrorCode::kNotFound, "row " + word + ": the task list has the rows 0 to " +
                                               std::to_string(tasks.tasks.size() - 1)};
    }
    std::vector<std::string_view> names;
    constexpr std::size_t kMostNames = 10'000;
    for (const Task& task : tasks.tasks) {
        if (names.size() < kMostNames) names.emplace_back(task.name);
    }
    const std::string_view near = nearest_word(word, names);
    return Error{ErrorCode::kNotFound,
                 "no task is called " + shown(word) +
                     (near.empty() ? "; a name or a row number (from 0) was expected"
                                   : ", did you mean " + shown(near) + "?")};
}

Result<Explanation> explain(const Scenario& scenario, const ReplayOptions& options,
                            const Question& question) {
    const auto position = position_of(scenario, question);
    if (!position) return position.error();
    auto replay = Replay::start(scenario, options);
    if (!replay) return std::move(replay).error();
    while (replay->position() < *position) {
        auto step = replay->step();
        if (!step) return std::move(step).error();
    }
    if (auto settled = replay->settle_before_next(); !settled) return std::move(settled).error();
    placement::Engine& engine = replay->engine();
    const Task& task = scenario.tasks.tasks[question.row];
    Explanation told{.row = question.row,
                     .arrivals = scenario.order.arrivals.size(),
                     .after = *position,
                     .policy = options.policy,
                     .capacity_milli = engine.capacity_milli(),
                     .free_milli = engine.free_milli(),
                     .fragmented_milli = engine.fragmented_milli()};
    if (!question.after) told.arrival = *position + 1;
    if (options.patience > 0 && task.count == 1 &&
        placement::had_better_wait(engine, task.request)) {
        told.waits = options.patience;
    }
    const auto others = engine.alternatives(task.request, question.top + 1);
    const placement::Mark before = engine.mark();
    auto decided = decide(engine, task, told);
    engine.undo_to(before);
    engine.commit();
    if (!decided) return std::move(decided).error().during("task " + task.name);
    if (!told.places.empty()) {
        told.chosen = choice_of(scenario, engine, task.request, told.places.front());
    }
    for (const Placement& other : others) {
        if (told.chosen && other.node == told.chosen->place.node) continue;
        if (told.alternatives.size() == question.top) break;
        told.alternatives.push_back(choice_of(scenario, engine, task.request, other));
    }
    return told;
}

}  // namespace aliquot::sim::trace
