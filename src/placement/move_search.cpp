// SPDX-License-Identifier: Apache-2.0
#include "placement/move_search.h"

#include <algorithm>
#include <tuple>

namespace aliquot::placement {
namespace {

constexpr std::size_t kMostTried = 32;  // places of one group, or holes, looked at in one step

bool takes_part(const Request& request) {
    return request.is_share() && request.anti_affinity.empty();
}

bool can_begin(const Request& request) {
    return request.gpus == 1 && request.milli > 0 && request.mig_profile.empty() &&
           request.anti_affinity.empty();
}

/// Equal for requests that ask for the same thing.
std::string word_of(const Request& request) {
    std::string word = std::to_string(request.cpu_milli) + ' ' +
                       std::to_string(request.memory_mib) + ' ' + std::to_string(request.milli) +
                       ' ' + std::to_string(request.mib);
    for (const std::string& model : request.models) word += '\n' + model;
    for (const auto& [key, value] : request.selector) word += "\ns" + key + '\n' + value;
    for (const auto& [key, value] : request.tolerations) word += "\nt" + key + '\n' + value;
    return word;
}

}  // namespace

MoveSearch::MoveSearch(const Engine& engine, std::span<const Waiting> waiting,
                       const MayMove& may_move)
    : engine_(&engine) {
    draw_devices(engine);
    draw_tasks(engine, may_move);
    for (const Waiting& one : waiting) {
        const bool in = can_begin(one.request);
        waiting_.emplace_back(in ? kind_of(one.request) : 0, in ? one.count : 0);
    }
    for (Index i = 0; i < waiting_.size(); ++i)
        if (waiting_[i].second > 0) by_size_.push_back(i);
    std::stable_sort(by_size_.begin(), by_size_.end(), [&](Index a, Index b) {
        return waiting[a].request.milli > waiting[b].request.milli;
    });
    group_devices();
}

MoveSearch::Index MoveSearch::kind_of(const Request& request) {
    const auto [found, is_new] =
        kind_numbers_.try_emplace(word_of(request), static_cast<Index>(kinds_.size()));
    if (!is_new) return found->second;
    Kind kind{.request = request, .admitted = {}};
    std::vector<char> admitted(engine_->node_count());
    for (NodeId node = 0; node < engine_->node_count(); ++node)
        admitted[node] = engine_->admits(request, node) ? 1 : 0;
    if (std::find(admitted.begin(), admitted.end(), 0) != admitted.end())
        kind.admitted = std::move(admitted);
    kinds_.push_back(std::move(kind));
    return found->second;
}

void MoveSearch::draw_devices(const Engine& engine) {
    for (NodeId node = 0; node < engine.node_count(); ++node) {
        const NodeState state = engine.state(node);
        hosts_.push_back({state.cpu_milli, state.memory_mib});
        for (std::size_t i = 0; i < state.devices.size(); ++i) {
            const DeviceState& device = state.devices[i];
            if (device.mig) continue;
            devices_.push_back({.node = node,
                                .number = static_cast<std::uint8_t>(i),
                                .milli = device.milli,
                                .mib = device.mib});
        }
    }
}

void MoveSearch::draw_tasks(const Engine& engine, const MayMove& may_move) {
    std::size_t next = 0;
    for (NodeId node = 0; node < engine.node_count(); ++node) {
        const std::size_t first = next;
        while (next < devices_.size() && devices_[next].node == node) ++next;
        if (first == next) continue;
        for (const PlacementId id : engine.placements_on(node)) {
            const auto request = engine.request_of(id);
            if (!takes_part(*request) || !may_move(id)) continue;
            const std::uint8_t number = engine.placement_of(id)->devices[0];
            for (std::size_t i = first; i < next; ++i) {
                if (devices_[i].number != number) continue;
                devices_[i].tasks.push_back(static_cast<Index>(tasks_.size()));
                tasks_.push_back({id, kind_of(*request), static_cast<Index>(i)});
            }
        }
    }
}

void MoveSearch::group_devices() {
    std::map<std::pair<std::int32_t, std::int32_t>, Group> groups;
    holes_.clear();
    for (Index i = 0; i < devices_.size(); ++i) {
        const Device& device = devices_[i];
        if (device.milli > 0) holes_.emplace_back(device.milli, i);
        for (const Index task : device.tasks) {
            const std::int32_t milli = request_of(task).milli;
            Group& group = groups[{milli, device.milli}];
            group.milli = milli;
            group.hole = device.milli;
            group.places.emplace_back(i, task);
        }
    }
    std::sort(holes_.begin(), holes_.end());
    groups_.clear();
    for (auto& [key, group] : groups) groups_.push_back(std::move(group));
}

bool MoveSearch::fits(Index kind, Index device) const {
    const Request& request = kinds_[kind].request;
    const Device& there = devices_[device];
    const Host& host = hosts_[there.node];
    if (there.milli < request.milli || there.mib < request.mib || host.cpu < request.cpu_milli ||
        host.memory < request.memory_mib)
        return false;
    // Whole: nothing else may be there, not even a task that asks for memory alone.
    if (request.milli == kWholeGpu && there.mib < engine_->node(there.node).device_mib)
        return false;
    const std::vector<char>& admitted = kinds_[kind].admitted;
    return admitted.empty() || admitted[there.node] != 0;
}

void MoveSearch::put(Index kind, Index device) {
    const Request& request = kinds_[kind].request;
    Device& there = devices_[device];
    there.milli -= request.milli;
    there.mib -= request.milli == kWholeGpu ? engine_->node(there.node).device_mib : request.mib;
    hosts_[there.node].cpu -= request.cpu_milli;
    hosts_[there.node].memory -= request.memory_mib;
}

void MoveSearch::take(Index kind, Index device) {
    const Request& request = kinds_[kind].request;
    Device& there = devices_[device];
    there.milli += request.milli;
    there.mib += request.milli == kWholeGpu ? engine_->node(there.node).device_mib : request.mib;
    hosts_[there.node].cpu += request.cpu_milli;
    hosts_[there.node].memory += request.memory_mib;
}

void MoveSearch::meet(Index device) {
    devices_[device].met = true;
    met_.push_back(device);
    met_holes_ += devices_[device].milli;
}

void MoveSearch::part(Index device) {
    devices_[device].met = false;
    met_.pop_back();
    met_holes_ -= devices_[device].milli;
}

/// All tasks have a place: fills what is left and weighs it.
bool MoveSearch::is_worth_it() {
    Exchange exchange;
    exchange.gained_milli = kinds_[waiting_[first_.waiting].first].request.milli;
    exchange.fills.push_back(first_);
    std::vector<std::pair<Index, Index>> filled;
    --waiting_[first_.waiting].second;
    for (const Index device : met_) {
        for (const Index i : by_size_) {
            auto& [kind, count] = waiting_[i];
            while (count > 0 && fits(kind, device)) {
                put(kind, device);
                --count;
                filled.emplace_back(i, device);
                exchange.gained_milli += kinds_[kind].request.milli;
                exchange.fills.push_back({.waiting = i,
                                          .where = {.node = devices_[device].node,
                                                    .devices = {devices_[device].number}}});
            }
        }
    }
    for (const auto& [i, device] : filled) {
        take(waiting_[i].first, device);
        ++waiting_[i].second;
    }
    ++waiting_[first_.waiting].second;
    if (exchange.gained_milli < least_gain_ * static_cast<std::int64_t>(hops_.size())) return false;
    for (const Hop& hop : hops_) {
        const Device& to = devices_[hop.device];
        exchange.moves.push_back(
            {.id = tasks_[hop.task].id,
             .from = devices_[tasks_[hop.task].device].node,
             .to = {.id = tasks_[hop.task].id, .node = to.node, .devices = {to.number}}});
    }
    found_ = std::move(exchange);
    return true;
}

/// The task goes where there is room; the chain ends.
bool MoveSearch::settle(Index task, Index device) {
    ++steps_;
    const Index kind = tasks_[task].kind;
    if (device == tasks_[task].device || !fits(kind, device)) return false;
    const bool is_new = !devices_[device].met;
    if (is_new) meet(device);
    put(kind, device);
    hops_.push_back({task, device});
    const bool good = is_worth_it();
    hops_.pop_back();
    take(kind, device);
    if (is_new) part(device);
    return good;
}

/// The task takes the place of a smaller one, and that goes on.
bool MoveSearch::push_out(Index task, const Group& group) {
    std::size_t tried = 0;
    for (const auto& [device, other] : group.places) {
        if (devices_[device].met) continue;
        if (++tried > kMostTried) return false;
        ++steps_;
        meet(device);
        take(tasks_[other].kind, device);
        const Index kind = tasks_[task].kind;
        const bool fitting = fits(kind, device);
        bool good = false;
        if (fitting) {
            put(kind, device);
            hops_.push_back({task, device});
            good = go_on(other);
            hops_.pop_back();
            take(kind, device);
        }
        put(tasks_[other].kind, device);
        part(device);
        if (good) return true;
        if (fitting) return false;  // the others of the group would do no better
    }
    return false;
}

bool MoveSearch::go_on(Index task) {
    const std::int32_t milli = request_of(task).milli;
    const auto moves = static_cast<std::int64_t>(hops_.size()) + 1;  // with that of this task
    for (std::size_t i = 0; i < met_.size(); ++i)
        if (settle(task, met_[i])) return true;
    std::size_t tried = 0;
    for (auto hole = std::lower_bound(holes_.begin(), holes_.end(), std::pair{milli, Index{0}});
         hole != holes_.end() && tried < kMostTried; ++hole) {
        if (devices_[hole->second].met) continue;
        ++tried;
        if (!fits(tasks_[task].kind, hole->second)) continue;
        if (settle(task, hole->second)) return true;
        break;
    }
    if (moves >= most_moves_ || steps_ > last_step_) return false;
    for (const Group& group : groups_) {
        if (group.milli >= milli) break;
        if (group.milli + group.hole < milli) continue;
        // No more can be won than what is free on the GPUs of the chain.
        if (moves + 1 >= most_moves_ && met_holes_ + group.hole < least_gain_ * (moves + 1) &&
            (holes_.empty() || holes_.back().first < group.milli))
            continue;
        if (push_out(task, group)) return true;
        if (steps_ > last_step_) return false;
    }
    return false;
}

/// `first` and `last` bound the waiting kinds of one size in by_size_.
bool MoveSearch::begin(std::size_t first, std::size_t last, const Group& group) {
    std::size_t tried = 0;
    for (const auto& [device, task] : group.places) {
        if (++tried > kMostTried) return false;
        ++steps_;
        meet(device);
        take(tasks_[task].kind, device);
        std::size_t i = first;
        while (i < last && (waiting_[by_size_[i]].second == 0 ||
                            !fits(waiting_[by_size_[i]].first, device)))
            ++i;
        bool good = false;
        if (i < last) {
            const Index kind = waiting_[by_size_[i]].first;
            put(kind, device);
            first_ = {
                .waiting = by_size_[i],
                .where = {.node = devices_[device].node, .devices = {devices_[device].number}}};
            good = go_on(task);
            take(kind, device);
        }
        put(tasks_[task].kind, device);
        part(device);
        if (good) return true;
        if (i < last) return false;  // the others of the group would do no better
    }
    return false;
}

std::optional<Exchange> MoveSearch::find(std::int64_t least_gain, unsigned most_moves) {
    least_gain_ = std::max<std::int64_t>(least_gain, 1);
    most_moves_ = std::min(most_moves, kMostChain);
    last_step_ = steps_ + kMostSteps;
    found_.reset();
    if (most_moves_ == 0) return std::nullopt;
    const auto size_of = [&](std::size_t i) {
        return kinds_[waiting_[by_size_[i]].first].request.milli;
    };
    for (std::size_t first = 0; first < by_size_.size();) {
        std::size_t last = first + 1;
        while (last < by_size_.size() && size_of(last) == size_of(first)) ++last;
        for (const Group& group : groups_) {
            if (group.milli + group.hole < size_of(first)) continue;
            if (begin(first, last, group)) return std::exchange(found_, std::nullopt);
            if (steps_ > last_step_) return std::nullopt;
        }
        first = last;
    }
    return std::nullopt;
}

void MoveSearch::made(const Exchange& exchange) {
    std::unordered_map<PlacementId, Index> numbers;
    for (Index i = 0; i < tasks_.size(); ++i) numbers.emplace(tasks_[i].id, i);
    const auto device_at = [&](const Placement& where) {
        return static_cast<Index>(
            std::find_if(devices_.begin(), devices_.end(),
                         [&](const Device& device) {
                             return device.node == where.node && device.number == where.devices[0];
                         }) -
            devices_.begin());
    };
    for (const Move& move : exchange.moves) {
        const Index task = numbers.at(move.id);
        Device& from = devices_[tasks_[task].device];
        from.tasks.erase(std::find(from.tasks.begin(), from.tasks.end(), task));
        take(tasks_[task].kind, tasks_[task].device);
    }
    for (const Move& move : exchange.moves)
        put(tasks_[numbers.at(move.id)].kind, device_at(move.to));
    for (const Exchange::Fill& fill : exchange.fills) {
        put(waiting_[fill.waiting].first, device_at(fill.where));
        --waiting_[fill.waiting].second;
    }
    group_devices();
}

}  // namespace aliquot::placement
