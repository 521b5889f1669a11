// SPDX-License-Identifier: Apache-2.0
#include "placement/move_search.h"

#include <algorithm>
#include <tuple>

namespace aliquot::placement {
namespace {

constexpr std::size_t kMostTried = 32;  // places of one group, or holes, looked at in one step

/// Whether a running task can be.
bool takes_part(const Request& request) {
    return request.is_share() && request.anti_affinity.empty();
}

/// Whether a waiting request can be part of an exchange.
bool can_begin(const Request& request) {
    return request.gpus == 1 && request.milli > 0 && request.mig_profile.empty() &&
           request.anti_affinity.empty();
}

}  // namespace

MoveSearch::MoveSearch(const Engine& engine, std::span<const Waiting> waiting,
                       const MayMove& may_move)
    : engine_(&engine) {
    draw_devices();
    draw_tasks(may_move);
    for (const Waiting& one : waiting) {
        const bool in = can_begin(one.request);
        waiting_.push_back({in ? kind_of(one.request) : 0, in ? one.count : 0});
    }
    for (Index i = 0; i < waiting_.size(); ++i)
        if (waiting_[i].count > 0) by_size_.push_back(i);
    std::stable_sort(by_size_.begin(), by_size_.end(), [&](Index a, Index b) {
        return waiting[a].request.milli > waiting[b].request.milli;
    });
    list_all();
}

bool MoveSearch::Less::operator()(const Request& a, const Request& b) const {
    const auto ordered = [](const Request& r) {
        return std::tie(r.milli, r.cpu_milli, r.memory_mib, r.mib, r.models, r.selector,
                        r.tolerations);
    };
    return ordered(a) < ordered(b);
}

MoveSearch::Index MoveSearch::kind_of(const Request& request) {
    const auto [found, is_new] =
        kind_numbers_.try_emplace(request, static_cast<Index>(kinds_.size()));
    if (!is_new) return found->second;
    Kind kind{.request = request, .admitted = engine_->admitted(request)};
    if (std::find(kind.admitted.begin(), kind.admitted.end(), false) == kind.admitted.end())
        kind.admitted.clear();
    kinds_.push_back(std::move(kind));
    return found->second;
}

void MoveSearch::draw_devices() {
    for (NodeId node = 0; node < engine_->node_count(); ++node) {
        const NodeState state = engine_->state(node);
        Host host{.cpu = state.cpu_milli,
                  .memory = state.memory_mib,
                  .device_mib = engine_->node(node).device_mib,
                  .first = static_cast<Index>(devices_.size())};
        for (std::size_t i = 0; i < state.devices.size(); ++i) {
            const DeviceState& device = state.devices[i];
            devices_.push_back({.node = node,
                                .number = static_cast<std::uint8_t>(i),
                                .mig = device.mig,
                                .milli = device.milli,
                                .mib = device.mib,
                                .tasks = {}});
        }
        hosts_.push_back(host);
    }
}

void MoveSearch::draw_tasks(const MayMove& may_move) {
    for (NodeId node = 0; node < engine_->node_count(); ++node) {
        if (engine_->node(node).devices == 0) continue;
        for (const PlacementId id : engine_->placements_on(node)) {
            const auto request = engine_->request_of(id);
            if (!takes_part(*request) || !may_move(id)) continue;
            const Index device = device_at(*engine_->placement_of(id));
            const auto task = static_cast<Index>(tasks_.size());
            devices_[device].tasks.push_back(task);
            task_numbers_.emplace(id, task);
            tasks_.push_back({id, kind_of(*request), device});
        }
    }
}

MoveSearch::Index MoveSearch::device_at(const Placement& where) const {
    return hosts_[where.node].first + where.devices[0];
}

void MoveSearch::list_all() {
    std::map<std::pair<std::int32_t, std::int32_t>, Group> groups;
    for (Index i = 0; i < devices_.size(); ++i) {
        const Device& device = devices_[i];
        if (device.mig) continue;
        if (device.milli > 0) holes_.emplace_back(device.milli, i);
        for (const Index task : device.tasks) {
            Group& group = groups[{request_of(task).milli, device.milli}];
            group.places.emplace_back(i, task);
        }
    }
    std::sort(holes_.begin(), holes_.end());
    for (auto& [size, group] : groups) {
        std::tie(group.milli, group.hole) = size;
        groups_.push_back(std::move(group));
    }
}

/// Makes the device and its tasks known to the search, as they are now.
void MoveSearch::list(Index device) {
    const Device& here = devices_[device];
    if (here.mig) return;
    if (here.milli > 0) {
        const std::pair hole{here.milli, device};
        holes_.insert(std::lower_bound(holes_.begin(), holes_.end(), hole), hole);
    }
    for (const Index task : here.tasks) {
        const std::pair size{request_of(task).milli, here.milli};
        const auto group =
            std::lower_bound(groups_.begin(), groups_.end(), size,
                             [](const Group& one, const auto& key) { return one.size() < key; });
        if (group != groups_.end() && group->size() == size)
            group->places.emplace_back(device, task);
        else
            groups_.insert(group,
                           {.milli = size.first, .hole = size.second, .places = {{device, task}}});
    }
}

/// The opposite.
void MoveSearch::unlist(Index device) {
    const Device& here = devices_[device];
    const auto hole = std::lower_bound(holes_.begin(), holes_.end(), std::pair{here.milli, device});
    if (hole != holes_.end() && hole->second == device) holes_.erase(hole);
    for (const Index task : here.tasks) {
        const std::pair size{request_of(task).milli, here.milli};
        const auto group =
            std::lower_bound(groups_.begin(), groups_.end(), size,
                             [](const Group& one, const auto& key) { return one.size() < key; });
        std::erase(group->places, std::pair{device, task});
        if (group->places.empty()) groups_.erase(group);
    }
}

bool MoveSearch::fits(Index kind, Index device) const {
    const Request& request = kinds_[kind].request;
    const Device& there = devices_[device];
    const Host& host = hosts_[there.node];
    if (there.milli < request.milli || there.mib < request.mib || host.cpu < request.cpu_milli ||
        host.memory < request.memory_mib)
        return false;
    // Whole: nothing else may be there, not even a task that asks for memory alone.
    if (request.milli == kWholeGpu && there.mib < host.device_mib) return false;
    const std::vector<bool>& admitted = kinds_[kind].admitted;
    return admitted.empty() || admitted[there.node];
}

void MoveSearch::put(Index kind, Index device) {
    const Request& request = kinds_[kind].request;
    Device& there = devices_[device];
    there.milli -= request.milli;
    there.mib -= request.milli == kWholeGpu ? hosts_[there.node].device_mib : request.mib;
    hosts_[there.node].cpu -= request.cpu_milli;
    hosts_[there.node].memory -= request.memory_mib;
}

void MoveSearch::take(Index kind, Index device) {
    const Request& request = kinds_[kind].request;
    Device& there = devices_[device];
    there.milli += request.milli;
    there.mib += request.milli == kWholeGpu ? hosts_[there.node].device_mib : request.mib;
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
    exchange.gained_milli = kinds_[waiting_[first_.waiting].kind].request.milli;
    exchange.fills.push_back(first_);
    std::vector<std::pair<Index, Index>> filled;
    --waiting_[first_.waiting].count;
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
        take(waiting_[i].kind, device);
        ++waiting_[i].count;
    }
    ++waiting_[first_.waiting].count;
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
        // No more can be won than what is free on the GPUs of the chain. A chain that wins enough
        // can be begun so that it does nearly so from its first link on.
        if (4 * (met_holes_ + group.hole) < 3 * least_gain_ * (moves + 1)) continue;
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
        while (i < last &&
               (waiting_[by_size_[i]].count == 0 || !fits(waiting_[by_size_[i]].kind, device)))
            ++i;
        bool good = false;
        if (i < last) {
            const Index kind = waiting_[by_size_[i]].kind;
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
        return kinds_[waiting_[by_size_[i]].kind].request.milli;
    };
    for (std::size_t first = 0; first < by_size_.size();) {
        std::size_t last = first + 1;
        while (last < by_size_.size() && size_of(last) == size_of(first)) ++last;
        for (const Group& group : groups_) {
            if (group.milli + group.hole < size_of(first)) continue;
            if (std::int64_t{4} * group.hole < 3 * least_gain_) continue;
            if (begin(first, last, group)) return std::exchange(found_, std::nullopt);
            if (steps_ > last_step_) return std::nullopt;
        }
        first = last;
    }
    return std::nullopt;
}

void MoveSearch::made(const Exchange& exchange) {
    std::vector<Index> changed;
    for (const Move& move : exchange.moves) {
        changed.push_back(tasks_[task_numbers_.at(move.id)].device);
        changed.push_back(device_at(move.to));
    }
    for (const Exchange::Fill& fill : exchange.fills) changed.push_back(device_at(fill.where));
    std::sort(changed.begin(), changed.end());
    changed.erase(std::unique(changed.begin(), changed.end()), changed.end());
    for (const Index device : changed) unlist(device);
    for (const Move& move : exchange.moves) {
        const Index task = task_numbers_.at(move.id);
        std::erase(devices_[tasks_[task].device].tasks, task);
        take(tasks_[task].kind, tasks_[task].device);
    }
    for (const Move& move : exchange.moves)
        put(tasks_[task_numbers_.at(move.id)].kind, device_at(move.to));
    for (const Exchange::Fill& fill : exchange.fills) {
        put(waiting_[fill.waiting].kind, device_at(fill.where));
        --waiting_[fill.waiting].count;
    }
    for (const Index device : changed) list(device);
}

}  // namespace aliquot::placement
