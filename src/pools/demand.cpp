// SPDX-License-Identifier: Apache-2.0
#include "pools/demand.h"

#include <algorithm>

#include "k8s/resource_name.h"

namespace aliquot::pools {
namespace {

bool has_room(const k8s::Amounts& free, const k8s::Amounts& wanted) {
    constexpr double kRounding = 1e-9;
    return std::ranges::all_of(wanted, [&](const auto& one) {
        if (one.second <= 0) return true;
        const auto found = free.find(one.first);
        // Of what nobody counts (ephemeral-storage of a shape without it) there is enough, but not of devices.
        if (found == free.end()) {
            return one.first != "cpu" && one.first != "memory" &&
                   one.first.find('/') == std::string::npos;
        }
        return one.second <= found->second + kRounding * found->second;
    });
}

void take_from(k8s::Amounts& free, const k8s::Amounts& wanted) {
    for (const auto& [resource, amount] : wanted) {
        const auto found = free.find(resource);
        if (found != free.end()) found->second -= amount;
    }
}

/// The largest part of the shape that a claim wants of any resource.
double largeness(const Claim& claim, const NodeShape& shape) {
    double largest = 0;
    for (const auto& [resource, amount] : claim.amounts) {
        const auto found = shape.amounts.find(resource);
        if (found != shape.amounts.end() && found->second > 0) {
            largest = std::max(largest, amount / found->second);
        }
    }
    return largest;
}

struct Room {
    k8s::Amounts free;
    bool used = false;
    bool is_new = false;
    bool is_there = false;  // a node that takes pods
    bool is_seen = false;   // an autoscaler makes or keeps it for its pods
};

std::vector<Room> rooms_of(const std::vector<PoolNode>& nodes, const NodeShape& shape,
                           std::chrono::seconds start_timeout) {
    std::vector<Room> rooms;
    for (const PoolNode& node : nodes) {
        if (node.is_capacity()) {
            rooms.push_back({.free = node.free,
                             .used = node.pods != 0,
                             .is_there = true,
                             .is_seen = node.pods != 0});
        } else if (!node.leaves && node.sick.empty() && node.pods == 0 &&
                   node.seen < start_timeout) {
            rooms.push_back({.free = shape.amounts});  // it starts
        }
    }
    // Nodes with pods first: what fits there keeps no other node.
    std::stable_partition(rooms.begin(), rooms.end(), [](const Room& room) { return room.used; });
    return rooms;
}

}  // namespace

QueueNeed need_of(const std::vector<Claim>& waiting, const std::vector<PoolNode>& nodes,
                  const NodeShape& shape, std::chrono::seconds start_timeout, unsigned most) {
    QueueNeed need;
    std::vector<Room> rooms = rooms_of(nodes, shape, start_timeout);
    std::vector<const Claim*> order;
    for (const Claim& claim : waiting) order.push_back(&claim);
    std::ranges::stable_sort(order, [&](const Claim* a, const Claim* b) {
        return largeness(*a, shape) > largeness(*b, shape);
    });
    for (const Claim* const claim : order) {
        auto room = std::ranges::find_if(
            rooms, [&](const Room& one) { return has_room(one.free, claim->amounts); });
        if (room == rooms.end()) {
            if (!has_room(shape.amounts, claim->amounts)) {
                need.too_large.push_back(claim->pod);
                continue;
            }
            if (need.more >= most) continue;
            ++need.more;
            room = rooms.insert(rooms.end(), {.free = shape.amounts, .is_new = true});
        }
        take_from(room->free, claim->amounts);
        room->used = true;
        room->is_seen = room->is_seen || !claim->hidden;
        need.served.push_back(claim->pod);
        ++(room->is_new ? need.on_new : need.placed);
    }
    need.nodes = static_cast<unsigned>(std::ranges::count_if(rooms, &Room::used));
    need.unseen = static_cast<unsigned>(std::ranges::count_if(
        rooms, [](const Room& room) { return room.used && !room.is_there && !room.is_seen; }));
    // Nodes that are no capacity but have pods still carry their work.
    need.nodes += static_cast<unsigned>(std::ranges::count_if(nodes, [](const PoolNode& node) {
        return !node.is_capacity() && !node.leaves && node.pods != 0;
    }));
    return need;
}

bool may_take(const Pool& pool, const k8s::Pod& pod) {
    const auto requests = pod.requests();
    const bool wants_gpu = std::ranges::any_of(requests, [](const auto& one) {
        return one.second > 0 && k8s::is_gpu_resource(one.first);
    });
    if (!wants_gpu) return false;
    k8s::Labels labels = pool.node.labels;
    labels[std::string(kPoolLabel)] = pool.name;
    for (const auto& [key, value] : pool.selector) labels[key] = value;
    if (!pool.instances.empty()) labels["node.kubernetes.io/instance-type"] = pool.instances[0];
    bool fits = pod.where.matches("", labels);
    // The type that a pod names may be any of the pool's.
    for (const std::string& type : pool.instances) {
        if (fits) break;
        labels["node.kubernetes.io/instance-type"] = type;
        fits = pod.where.matches("", labels);
    }
    return fits && std::ranges::all_of(pool.node.taints, [&](const k8s::Taint& taint) {
               return !taint.keeps_away() || k8s::tolerates(pod.tolerations, taint);
           });
}

}  // namespace aliquot::pools
