// SPDX-License-Identifier: Apache-2.0
#include "placement/state.h"

#include <algorithm>
#include <cstdlib>

namespace aliquot::placement {
namespace {

std::unique_ptr<Scorer> scorer_of(const Options& options) {
    if (options.policy == Policy::kAliquot) return make_own_scorer(options.weights);
    if (options.published == nullptr) std::abort();  // our bug: replay() refuses such a log
    return options.published(options.policy, options.seed);
}

}  // namespace

Engine::State::State(Options chosen)
    : options(chosen), scorer(scorer_of(options)), ranking(node_table, *scorer) {
    options.learn_every = std::max(options.learn_every, 1U);
}

void Engine::State::lay_out() {
    if (laid_out) return;
    on_node.resize(node_table.size());
    live.reserve(node_table.size() * 8);  // no pause for growth in a running cluster
    ranking.forget();
    scorer->reset(node_table, types);
    laid_out = true;
}

Result<ClassId> Engine::State::kind_of(const Request& request) {
    lay_out();
    return ranking.class_of(request);
}

std::vector<NodeId> Engine::State::excluded_by(const std::string& anti_affinity) const {
    std::vector<NodeId> nodes;
    if (anti_affinity.empty()) return nodes;
    const auto found = keep_apart.find(anti_affinity);
    if (found == keep_apart.end()) return nodes;
    for (const auto& [node, count] : found->second) nodes.push_back(node);
    return nodes;
}

void Engine::State::move_resources(const Live& one, int sign) {
    const Shape& shape = ranking.shape_of(one.kind);
    scorer->leaving(node_table.node(one.node), shape, sign, one.node);
    if (sign > 0)
        node_table.take(one.node, shape, one.spot);
    else
        node_table.give(one.node, shape, one.spot);
    scorer->entered(node_table.node(one.node), one.node);
    ranking.changed(one.node);
    for (const NodeId repriced : scorer->repriced()) ranking.changed(repriced);
}

void Engine::State::enter(PlacementId id, Live one) {
    move_resources(one, 1);
    ranking.hold(one.kind);
    on_node[one.node].push_back(id);
    if (!one.anti_affinity.empty()) ++keep_apart[one.anti_affinity][one.node];
    live.insert_or_assign(id, std::move(one));
}

Live Engine::State::leave(PlacementId id) {
    const auto found = live.find(id);
    Live one = std::move(found->second);
    live.erase(found);
    move_resources(one, -1);
    ranking.drop(one.kind);
    std::vector<PlacementId>& here = on_node[one.node];
    *std::find(here.begin(), here.end(), id) = here.back();
    here.pop_back();
    if (!one.anti_affinity.empty()) {
        auto& nodes = keep_apart[one.anti_affinity];
        if (--nodes[one.node] == 0) nodes.erase(one.node);
        if (nodes.empty()) keep_apart.erase(one.anti_affinity);
    }
    return one;
}

Placement Engine::State::described(PlacementId id, const Live& one) const {
    Placement placement{.id = id, .node = one.node, .mig_start = one.spot.mig_start};
    placement.devices.assign(one.spot.device.begin(), one.spot.device.begin() + one.spot.count);
    return placement;
}

Error Engine::State::no_room(const Request& request) const {
    std::string what = std::to_string(request.cpu_milli) + " milli CPU, " +
                       std::to_string(request.memory_mib) + " MiB";
    if (!request.mig_profile.empty())
        what += ", MIG " + request.mig_profile;
    else if (request.gpus > 0)
        what += ", " + std::to_string(request.gpus) + " x " + std::to_string(request.milli) +
                " milli GPU";
    if (request.mib > 0) what += " with " + std::to_string(request.mib) + " MiB";
    return {ErrorCode::kUnavailable,
            "no node of " + std::to_string(node_table.size()) + " has room for " + what};
}

Result<Placement> Engine::State::choose(const Request& request, ClassId kind,
                                        const std::vector<NodeId>& excluded) {
    const std::vector<NodeId> found = ranking.best(kind, 1, excluded);
    if (found.empty()) return no_room(request);
    const Shape& shape = ranking.shape_of(kind);
    const Node& node = node_table.node(found[0]);
    Live one{.kind = kind, .node = found[0], .spot = scorer->spot(node, found[0], shape)};
    if (shape.mig) one.spot.mig_start = node_table.mig_start(node, one.spot.device[0], shape);
    return described(0, one);
}

Result<Live> Engine::State::live_of(const Request& request, const Placement& where) {
    auto kind = kind_of(request);
    if (!kind) return std::move(kind).error();
    if (where.node >= node_table.size())
        return Error{ErrorCode::kConflict, "node number " + std::to_string(where.node) +
                                               ": there are " + std::to_string(node_table.size())};
    Live one{.kind = *kind,
             .node = where.node,
             .movable = request.movable,
             .anti_affinity = request.anti_affinity};
    one.spot.mig_start = where.mig_start;
    const std::string& name = node_table.spec(where.node).name;
    if (where.devices.size() > kMostDevices)
        return Error{ErrorCode::kConflict, "node " + name + ": too many devices"};
    for (const std::uint8_t device : where.devices) one.spot.device[one.spot.count++] = device;
    if (!ranking.admits(*kind, where.node) ||
        !NodeTable::fits_at(node_table.node(where.node), ranking.shape_of(*kind), one.spot))
        return Error{ErrorCode::kConflict,
                     "node " + name + ": the request does not fit there any more"};
    const std::vector<NodeId> excluded = excluded_by(request.anti_affinity);
    if (std::find(excluded.begin(), excluded.end(), where.node) != excluded.end())
        return Error{ErrorCode::kConflict,
                     "node " + name + ": already runs " + request.anti_affinity};
    return one;
}

void Engine::State::note_placed(PlacementId id) {
    if (!recording) return;
    Change change;
    change.id = id;
    change.scorer = scorer->save();
    changes.push_back(std::move(change));
}

void Engine::State::note_gone(Change::Kind kind, PlacementId id, const Live& before,
                              std::uint32_t saved) {
    if (!recording) return;
    Change change;
    change.kind = kind;
    change.id = id;
    change.before = before;
    change.scorer = saved;
    ranking.hold(before.kind);  // the log still names it
    changes.push_back(std::move(change));
}

Result<Placement> Engine::State::place(const Request& request) {
    auto kind = kind_of(request);
    if (!kind) return std::move(kind).error();
    auto placement = choose(request, *kind, excluded_by(request.anti_affinity));
    if (!placement) {
        note_refused(request);
        ranking.work_ahead();
        return placement;
    }
    const Shape& shape = ranking.shape_of(*kind);
    placement->cost = scorer->breakdown(node_table.node(placement->node), placement->node, shape);
    placement->id = next_id++;
    Live one{.kind = *kind,
             .node = placement->node,
             .movable = request.movable,
             .anti_affinity = request.anti_affinity};
    one.spot.mig_start = placement->mig_start;
    for (const std::uint8_t device : placement->devices) one.spot.device[one.spot.count++] = device;
    note_placed(placement->id);
    enter(placement->id, std::move(one));
    ranking.work_ahead();
    return placement;
}

void Engine::State::undo_leaving(Change change) {
    for (auto& [id, before] : change.together) {
        ranking.drop(before.kind);
        enter(id, std::move(before));
    }
    scorer->restore(change.scorer);
}

void Engine::State::undo(Change change) {
    if (change.kind == Change::Kind::kArrived || change.kind == Change::Kind::kRefused) return;
    if (change.kind == Change::Kind::kRearranged) {
        departures -= change.together.size();
        for (const auto& [id, before] : change.together) leave(id);
        undo_leaving(std::move(change));
        return;
    }
    if (change.kind != Change::Kind::kReleased) leave(change.id);
    if (change.kind == Change::Kind::kPlaced) {
        next_id = change.id;
    } else {
        --departures;
        ranking.drop(change.before.kind);
        enter(change.id, std::move(change.before));
    }
    scorer->restore(change.scorer);
}

void Engine::State::note_refused(const Request& request) {
    if (!recording) return scorer->refused(node_table.shape_of(request));
    Change change;  // commit() tells it, undo forgets it
    change.kind = Change::Kind::kRefused;
    change.arrived = std::make_unique<Request>(request);
    changes.push_back(std::move(change));
}

void Engine::State::learn(const Request& request) {
    if (!options.learn) return;
    if (recording) {  // commit() learns it, undo forgets it
        Change change;
        change.kind = Change::Kind::kArrived;
        change.arrived = std::make_unique<Request>(request);
        changes.push_back(std::move(change));
        return;
    }
    history.arrived(request);
    if (history.arrivals() % options.learn_every != 0 && !types.empty()) return;
    types = history.types();
    lay_out();
    scorer->reset(node_table, types);
}

}  // namespace aliquot::placement
