// SPDX-License-Identifier: Apache-2.0
#include "placement/migration.h"

#include <algorithm>

namespace aliquot::placement {
namespace {

constexpr std::size_t kMostHopeless = 4'096;
constexpr std::size_t kArrivals = 256;  // new placements after which a hopeless kind is tried again

std::string kind_of(const Request& request) {
    std::string kind = std::to_string(request.cpu_milli) + "/" +
                       std::to_string(request.memory_mib) + "/" + std::to_string(request.gpus) +
                       "/" + std::to_string(request.milli) + "/" + std::to_string(request.mib) +
                       "/" + request.mig_profile;
    const auto add = [&kind](char mark, const std::string& word) {
        kind += mark;
        kind += word;
    };
    for (const std::string& model : request.models) add('/', model);
    for (const auto& [key, value] : request.selector) {
        add('/', key);
        add('=', value);
    }
    for (const auto& [key, value] : request.tolerations) {
        add('/', key);
        add(':', value);
    }
    add('/', request.anti_affinity);
    return kind;
}

}  // namespace

bool Migration::is_hopeless(const std::string& kind) const {
    const auto found = hopeless_.find(kind);
    return found != hopeless_.end() && found->second.first == engine_.departures() &&
           engine_.live() < found->second.second + kArrivals;
}

bool Migration::may_move(PlacementId id) const {
    if (touched_.contains(id)) return false;
    const auto request = engine_.request_of(id);
    return request && request->movable;
}

std::vector<Migration::Candidate> Migration::candidates(const Request& request) const {
    std::vector<Candidate> found;
    for (const PlacementId id : engine_.blockers(request)) {
        if (!may_move(id)) continue;
        const auto task = engine_.request_of(id);
        found.push_back({id, engine_.placement_of(id)->node,
                         std::int64_t{task->gpu_milli()} * 64 + task->cpu_milli / 64});
    }
    std::stable_sort(found.begin(), found.end(),
                     [](const Candidate& a, const Candidate& b) { return a.size < b.size; });
    return found;
}

/// What it costs to move one task away and put the request in its place; nothing is changed.
std::optional<Migration::Trial> Migration::tried(const Candidate& candidate,
                                                 const Request& request) {
    auto to = engine_.elsewhere(candidate.id);
    if (!to) return std::nullopt;
    const Mark start = engine_.mark();
    std::optional<Trial> trial;
    if (engine_.move(candidate.id, *to)) {
        auto placed = engine_.what_if(request);
        if (placed) trial = Trial{candidate, *to, to->cost.total + placed->cost.total};
    }
    engine_.undo_to(start);
    return trial;
}

Result<Placement> Migration::place(const Request& request) {
    auto placed = engine_.place(request);
    if (placed || placed.error().code != ErrorCode::kUnavailable) return placed;
    if (moved() >= limits_.most_moves || request.gpu_milli() < limits_.least_gain) return placed;
    const std::string kind = kind_of(request);
    if (is_hopeless(kind)) return placed;
    std::optional<Trial> best;
    std::uint32_t trials = 0;
    for (const Candidate& candidate : candidates(request)) {
        if (trials >= limits_.most_trials) break;
        const auto trial = tried(candidate, request);
        if (!trial) continue;
        ++trials;
        if (!best || trial->cost < best->cost) best = trial;
    }
    engine_.commit();
    if (!best) {
        if (hopeless_.size() >= kMostHopeless) hopeless_.clear();
        hopeless_[kind] = {engine_.departures(), engine_.live()};
        return placed;
    }
    if (auto done = engine_.move(best->candidate.id, best->to); !done)
        return std::move(done).error();
    touched_.insert(best->candidate.id);
    auto second = engine_.place(request);
    if (second) gained_ += request.gpu_milli();
    return second;
}

Result<Done> Migration::place_what_fits(std::span<const Waiting> waiting,
                                        std::vector<std::uint32_t>& left, Room& room) {
    for (std::size_t i = 0; i < waiting.size(); ++i) {
        left.push_back(waiting[i].count);
        while (left[i] > 0) {
            auto placed = engine_.place(waiting[i].request);
            if (!placed && placed.error().code != ErrorCode::kUnavailable)
                return std::move(placed).error();
            if (!placed) break;
            --left[i];
            room.placed.push_back({i, *std::move(placed)});
        }
    }
    return Done{};
}

Result<Done> Migration::make(const Exchange& exchange, std::span<const Waiting> waiting,
                             Room& room) {
    const Mark start = engine_.mark();
    const std::size_t before = room.placed.size();
    auto done = engine_.rearrange(exchange.moves);
    for (const Exchange::Fill& fill : exchange.fills) {
        if (!done) break;
        auto id = engine_.restore(waiting[fill.waiting].request, fill.where);
        if (!id) {
            done = std::move(id).error();
            break;
        }
        room.placed.push_back({fill.waiting, fill.where});
        room.placed.back().placement.id = *id;
    }
    if (!done) {
        engine_.undo_to(start);
        room.placed.resize(before);
    }
    engine_.commit();
    if (!done) return done;
    for (const Move& move : exchange.moves) touched_.insert(move.id);
    gained_ += exchange.gained_milli;
    room.moves += static_cast<std::uint32_t>(exchange.moves.size());
    return done;
}

Result<Room> Migration::make_room(std::span<const Waiting> waiting) {
    Room room;
    std::vector<std::uint32_t> left;
    auto fitting = place_what_fits(waiting, left, room);
    if (!fitting) return std::move(fitting).error();
    if (moved() >= limits_.most_moves) return room;
    std::vector<Waiting> rest(waiting.begin(), waiting.end());
    for (std::size_t i = 0; i < rest.size(); ++i) rest[i].count = left[i];
    MoveSearch search(engine_, rest, [&](PlacementId id) { return may_move(id); });
    // Dear chains are taken only where no better ones are left, long ones where no shorter ones are.
    for (std::int64_t share = kWholeGpu;;
         share = std::max<std::int64_t>(share * 7 / 8, limits_.least_share)) {
        for (unsigned length = 1; length <= MoveSearch::kMostChain;) {
            const unsigned most = limits_.most_moves - moved();
            if (most == 0 || search.steps() >= limits_.most_steps) break;
            const auto exchange = search.find(share, std::min(length, most));
            if (!exchange) {
                ++length;
                continue;
            }
            if (auto done = make(*exchange, rest, room); !done) return std::move(done).error();
            search.made(*exchange);
        }
        if (share <= limits_.least_share) break;
    }
    room.steps = search.steps();
    return room;
}

std::vector<Move> Migration::plan(std::uint32_t most_moves) {
    const Mark start = engine_.mark();
    std::vector<Move> moves;
    // The measure is the paper's: free compute that the target workload cannot use. One round tries
    // every movable task once and keeps the best; a task that was moved is not looked at again.
    std::unordered_set<PlacementId> planned;
    while (moves.size() < most_moves) {
        const double before = engine_.fragmented_milli();
        std::optional<Move> best;
        for (NodeId node = 0; node < engine_.node_count(); ++node) {
            for (const PlacementId id : engine_.placements_on(node)) {
                if (planned.contains(id) || !may_move(id)) continue;
                auto to = engine_.elsewhere(id);
                if (!to) continue;
                const Mark here = engine_.mark();
                if (engine_.move(id, *to)) {
                    const double gained = before - engine_.fragmented_milli();
                    if (gained >= limits_.least_gain && (!best || gained > best->gained_milli))
                        best = Move{id, node, *to, gained};
                }
                engine_.undo_to(here);
            }
        }
        if (!best || !engine_.move(best->id, best->to)) break;
        planned.insert(best->id);
        moves.push_back(*best);
    }
    engine_.undo_to(start);
    engine_.commit();
    return moves;
}

Result<Done> Migration::apply(const std::vector<Move>& moves) {
    if (moved() + moves.size() > limits_.most_moves)
        return Error{ErrorCode::kInvalidInput,
                     "plan of " + std::to_string(moves.size()) + " moves: only " +
                         std::to_string(limits_.most_moves - moved()) + " are left"};
    const Mark start = engine_.mark();
    std::unordered_set<PlacementId> now;
    for (const Move& move : moves) {
        auto done =
            may_move(move.id) && now.insert(move.id).second
                ? engine_.move(move.id, move.to)
                : Result<Done>(Error{ErrorCode::kConflict, "placement " + std::to_string(move.id) +
                                                               ": may not be moved"});
        if (done) continue;
        engine_.undo_to(start);
        engine_.commit();
        return std::move(done).error();
    }
    engine_.commit();
    for (const Move& move : moves) touched_.insert(move.id);
    return Done{};
}

}  // namespace aliquot::placement
