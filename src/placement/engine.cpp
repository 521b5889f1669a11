// SPDX-License-Identifier: Apache-2.0
#include "placement/engine.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "placement/fragmentation.h"
#include "placement/state.h"

namespace aliquot::placement {
namespace {

Error unknown(PlacementId id) {
    return {ErrorCode::kNotFound, "placement " + std::to_string(id) + ": not there"};
}

}  // namespace

Engine::Engine(Options options) : state_(std::make_unique<State>(options)) {}
Engine::~Engine() = default;
Engine::Engine(Engine&&) noexcept = default;
Engine& Engine::operator=(Engine&&) noexcept = default;

Result<Done> Engine::add_geometry(MigGeometry geometry) {
    return state_->node_table.add_geometry(std::move(geometry));
}

Result<NodeId> Engine::add_node(NodeSpec spec) {
    if (spec.rank == kNoNode) spec.rank = static_cast<std::uint32_t>(state_->node_table.size());
    const std::uint32_t rank = spec.rank;
    if (state_->ranks.contains(rank))
        return Error{ErrorCode::kInvalidInput,
                     "node " + spec.name + ": rank " + std::to_string(rank) + " is taken"};
    auto id = state_->node_table.add_node(std::move(spec));
    if (!id) return id;
    state_->ranks.insert(rank);
    state_->laid_out = false;
    return id;
}

void Engine::set_workload(std::vector<TaskType> types) {
    state_->types = std::move(types);
    state_->laid_out = false;
}

Result<Placement> Engine::place(const Request& request) {
    auto good = checked(request);
    if (!good) return std::move(good).error();
    state_->learn(*good);
    return state_->place(*good);
}

Result<std::vector<Placement>> Engine::place_gang(const Request& request, unsigned count) {
    if (count > kMostGang)
        return Error{
            ErrorCode::kInvalidInput,
            "gang of " + std::to_string(count) + ": expected at most " + std::to_string(kMostGang)};
    auto good = checked(request);
    if (!good) return std::move(good).error();
    state_->learn(*good);
    const bool was_recording = state_->recording;
    const Mark start = mark();
    std::vector<Placement> placed;
    for (unsigned i = 0; i < count; ++i) {
        auto one = state_->place(*good);
        if (!one) {
            undo_to(start);
            if (!was_recording) commit();
            return std::move(one).error().during("gang of " + std::to_string(count) + ", after " +
                                                 std::to_string(i));
        }
        placed.push_back(std::move(*one));
    }
    if (!was_recording) commit();
    return placed;
}

Result<PlacementId> Engine::restore(const Request& request, const Placement& where) {
    auto good = checked(request);
    if (!good) return std::move(good).error();
    auto live = state_->live_of(*good, where);
    if (!live) return std::move(live).error();
    const PlacementId id = state_->next_id++;
    state_->note_placed(id);
    state_->enter(id, std::move(*live));
    return id;
}

Result<Done> Engine::release(PlacementId id) {
    const auto found = state_->live.find(id);
    if (found == state_->live.end()) return unknown(id);
    state_
        ->lay_out();  // always before the next change, so that questions in between change nothing
    state_->note_gone(Change::Kind::kReleased, id, found->second,
                      state_->recording ? state_->scorer->save() : 0);
    state_->leave(id);
    ++state_->departures;
    return Done{};
}

Result<Done> Engine::move(PlacementId id, const Placement& where) {
    const auto request = request_of(id);
    if (!request) return unknown(id);
    state_->lay_out();
    const std::uint32_t saved = state_->scorer->save();
    Live before = state_->leave(id);
    auto live = state_->live_of(*request, where);
    if (!live) {
        state_->enter(id, std::move(before));
        state_->scorer->restore(saved);
        return std::move(live).error();
    }
    if (!state_->recording) state_->scorer->forget_saved();
    state_->note_gone(Change::Kind::kMoved, id, before, saved);
    state_->enter(id, std::move(*live));
    ++state_->departures;
    return Done{};
}

Result<Done> Engine::rearrange(std::span<const Move> moves) {
    std::unordered_set<PlacementId> ids;
    for (const Move& move : moves) {
        if (!state_->live.contains(move.id)) return unknown(move.id);
        if (!ids.insert(move.id).second)
            return Error{ErrorCode::kInvalidInput,
                         "placement " + std::to_string(move.id) + ": is to be moved twice"};
    }
    state_->lay_out();
    Change change;
    change.kind = Change::Kind::kRearranged;
    change.scorer = state_->scorer->save();
    std::vector<Request> requests;
    for (const Move& move : moves) {
        requests.push_back(*request_of(move.id));
        state_->ranking.hold(state_->live.at(move.id).kind);  // known until all have entered
        change.together.emplace_back(move.id, state_->leave(move.id));
    }
    for (std::size_t i = 0; i < moves.size(); ++i) {
        auto live = state_->live_of(requests[i], moves[i].to);
        if (live) {
            state_->enter(moves[i].id, std::move(*live));
            continue;
        }
        while (i-- > 0) state_->leave(moves[i].id);
        state_->undo_leaving(std::move(change));
        return std::move(live).error();
    }
    state_->departures += moves.size();
    if (state_->recording) {
        state_->changes.push_back(std::move(change));
        return Done{};
    }
    for (const auto& [id, before] : change.together) state_->ranking.drop(before.kind);
    state_->scorer->forget_saved();
    return Done{};
}

Result<Placement> Engine::what_if(const Request& request) {
    auto good = checked(request);
    if (!good) return std::move(good).error();
    auto kind = state_->kind_of(*good);
    if (!kind) return std::move(kind).error();
    auto placement = state_->choose(*good, *kind, state_->excluded_by(good->anti_affinity));
    if (placement)
        placement->cost =
            state_->scorer->breakdown(state_->node_table.node(placement->node), placement->node,
                                      state_->ranking.shape_of(*kind));
    return placement;
}

std::vector<bool> Engine::admitted(const Request& request) const {
    std::vector<bool> nodes(node_count(), false);
    auto good = checked(request);
    if (!good) return nodes;
    auto kind = state_->kind_of(*good);
    if (!kind) return nodes;
    const Shape& shape = state_->ranking.shape_of(*kind);
    for (NodeId id = 0; id < node_count(); ++id) {
        const Node& node = state_->node_table.node(id);
        const bool has_gpus = node.devices > 0 && ((shape.models >> node.model) & 1U) != 0;
        nodes[id] = state_->ranking.admits(*kind, id) && (shape.gpus == 0 || has_gpus);
    }
    return nodes;
}

std::vector<Placement> Engine::alternatives(const Request& request, unsigned count) {
    std::vector<Placement> found;
    auto good = checked(request);
    if (!good) return found;
    auto kind = state_->kind_of(*good);
    if (!kind) return found;
    const Shape& shape = state_->ranking.shape_of(*kind);
    const std::vector<NodeId> excluded = state_->excluded_by(good->anti_affinity);
    for (const NodeId id : state_->ranking.best(*kind, count, excluded)) {
        const Node& node = state_->node_table.node(id);
        Live live{.kind = *kind, .node = id, .spot = state_->scorer->spot(node, id, shape)};
        if (shape.mig)
            live.spot.mig_start = state_->node_table.mig_start(node, live.spot.device[0], shape);
        found.push_back(state_->described(0, live));
        found.back().cost = state_->scorer->breakdown(node, id, shape);
    }
    return found;
}

Mark Engine::mark() {
    state_->recording = true;
    return {state_->changes.size()};
}

void Engine::undo_to(Mark mark) {
    if (state_->changes.size() > mark.position) state_->lay_out();
    while (state_->changes.size() > mark.position) {
        Change change = std::move(state_->changes.back());
        state_->changes.pop_back();
        state_->undo(std::move(change));
    }
}

void Engine::commit() {
    state_->recording = false;
    const std::vector<Change> kept = std::exchange(state_->changes, {});
    state_->scorer->forget_saved();
    for (const Change& change : kept) {
        if (change.kind == Change::Kind::kArrived)
            state_->learn(*change.arrived);
        else if (change.kind == Change::Kind::kRefused)
            state_->note_refused(*change.arrived);
        else if (change.kind == Change::Kind::kRearranged)
            for (const auto& [id, before] : change.together) state_->ranking.drop(before.kind);
        else if (change.kind != Change::Kind::kPlaced)
            state_->ranking.drop(change.before.kind);
    }
}

std::uint32_t Engine::node_count() const {
    return static_cast<std::uint32_t>(state_->node_table.size());
}
const NodeSpec& Engine::node(NodeId id) const { return state_->node_table.spec(id); }

NodeState Engine::state(NodeId id) const {
    const Node& node = state_->node_table.node(id);
    NodeState free{.cpu_milli = node.cpu, .memory_mib = node.memory};
    for (unsigned i = 0; i < node.devices; ++i) {
        if (node.is_mig(i))
            free.devices.push_back(
                {.mig_mask = static_cast<std::uint8_t>(node.milli[i]), .mig = true});
        else
            free.devices.push_back({.milli = node.milli[i], .mib = node.mib[i]});
    }
    return free;
}

std::optional<Request> Engine::request_of(PlacementId id) const {
    const auto found = state_->live.find(id);
    if (found == state_->live.end()) return std::nullopt;
    Request request = state_->ranking.request_of(found->second.kind);
    request.movable = found->second.movable;
    request.anti_affinity = found->second.anti_affinity;
    return request;
}

std::optional<Placement> Engine::placement_of(PlacementId id) const {
    const auto found = state_->live.find(id);
    if (found == state_->live.end()) return std::nullopt;
    return state_->described(id, found->second);
}

std::vector<PlacementId> Engine::placements_on(NodeId id) const {
    if (id >= state_->on_node.size()) return {};
    std::vector<PlacementId> ids = state_->on_node[id];
    std::sort(ids.begin(), ids.end());
    return ids;
}

std::size_t Engine::live() const { return state_->live.size(); }
std::uint64_t Engine::departures() const { return state_->departures; }
std::span<const TaskType> Engine::workload() const { return state_->types; }
const Options& Engine::options() const { return state_->options; }
std::int64_t Engine::capacity_milli() const { return state_->node_table.capacity_milli(); }
std::int64_t Engine::free_milli() const { return state_->node_table.free_milli(); }
std::int64_t Engine::free_cpu_beside_gpus() const {
    return state_->node_table.free_cpu_beside_gpus();
}

double Engine::fragmented_milli() const { return fragmented(state_->node_table, state_->types); }

std::size_t Engine::memory_bytes() const {
    return state_->node_table.size() * (sizeof(Node) + sizeof(NodeSpec)) + state_->ranking.bytes() +
           state_->scorer->bytes();
}

}  // namespace aliquot::placement
