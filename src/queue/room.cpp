// SPDX-License-Identifier: Apache-2.0
#include "queue/room.h"

#include <algorithm>

namespace aliquot::queue {
namespace {

using placement::Node;
using placement::NodeTable;
using placement::Placement;
using placement::Request;
using placement::Spot;

std::string text_of(const Request& request, std::uint32_t gang) {
    std::string text;
    for (const std::int64_t number :
         {std::int64_t{gang}, std::int64_t{request.cpu_milli}, std::int64_t{request.memory_mib},
          std::int64_t{request.gpus}, std::int64_t{request.milli}, std::int64_t{request.mib},
          std::int64_t{request.movable ? 1 : 0}})
        (text += std::to_string(number)) += ' ';
    const auto add = [&text](const std::string& word) { (text += word) += '\0'; };
    add(request.mig_profile);
    add(request.anti_affinity);
    for (const std::string& model : request.models) add(model);
    add({});
    for (const auto& [key, value] : request.selector) add(key), add(value);
    add({});
    for (const auto& [key, value] : request.tolerations) add(key), add(value);
    return text;
}

}  // namespace

Result<Done> Room::add_geometry(placement::MigGeometry geometry) {
    auto added = table_.add_geometry(geometry);
    if (!added) return added;
    return engine_.add_geometry(std::move(geometry));
}

Result<placement::NodeId> Room::add_node(placement::NodeSpec spec) {
    auto added = engine_.add_node(spec);
    if (!added) return added;
    largest_mib_ = std::max(largest_mib_, spec.device_mib);
    auto here = table_.add_node(std::move(spec));
    if (!here) return here;
    nodes_.push_back(table_.node(*here));
    empty_.push_back(nodes_.back());
    for (Ask& ask : asks_) describe(ask);
    note_freed();
    return added;
}

Ask Room::like(const Ask& ask, std::uint32_t gang, unsigned gpus, std::int32_t milli) const {
    Ask made = ask;
    made.gang = gang;
    made.shape.gpus = made.request.gpus = static_cast<std::uint8_t>(gpus);
    made.request.milli = milli;
    made.shape.milli = static_cast<std::uint16_t>(milli);
    made.milli = std::int64_t{milli} * gpus * gang;
    return made;
}

void Room::describe(Ask& ask) const {
    ask.shape = table_.shape_of(ask.request);
    ask.admitted.clear();
    if (!ask.request.selector.empty() || std::any_of(nodes_.begin(), nodes_.end(), [&](auto& node) {
            return !table_.spec(static_cast<placement::NodeId>(&node - nodes_.data()))
                        .taints.empty();
        }))
        ask.admitted = engine_.admitted(ask.request);
    const Request& request = ask.request;
    std::int64_t milli = request.gpu_milli();
    if (!request.mig_profile.empty()) {
        for (const placement::MigProfile* profile : ask.shape.profiles)
            if (profile != nullptr) milli = std::max<std::int64_t>(milli, profile->milli);
        if (milli == 0) milli = placement::kWholeGpu;
    } else if (request.gpus > 0 && milli == 0) {
        milli = largest_mib_ == 0
                    ? placement::kWholeGpu
                    : std::clamp<std::int64_t>(
                          (std::int64_t{request.mib} * 1000 + largest_mib_ - 1) / largest_mib_, 1,
                          placement::kWholeGpu);
    }
    ask.milli = milli * ask.gang;
}

Result<AskId> Room::ask_of(const Request& request, std::uint32_t gang) {
    if (latest_ < asks_.size() && asks_[latest_].gang == gang && asks_[latest_].request == request)
        return latest_;
    if (gang == 0 || gang > placement::kMostGang)
        return Error{ErrorCode::kInvalidInput, "gang of " + std::to_string(gang) +
                                                   ": expected 1 to " +
                                                   std::to_string(placement::kMostGang)};
    auto good = placement::checked(request);
    if (!good) return std::move(good).error();
    const auto [at, fresh] =
        known_.try_emplace(text_of(*good, gang), static_cast<AskId>(asks_.size()));
    if (fresh) {
        asks_.push_back({.request = std::move(*good), .gang = gang});
        describe(asks_.back());
    }
    return latest_ = at->second;
}

std::optional<Spot> Room::spot_on(const Node& node, const Ask& ask) const {
    const placement::Shape& shape = ask.shape;
    if (!NodeTable::fits(node, shape)) return std::nullopt;
    Spot spot;
    if (shape.is_share()) {  // the fullest device that takes it
        unsigned best = node.devices;
        for (unsigned i = 0; i < node.devices; ++i)
            if (NodeTable::device_fits(node, i, shape) &&
                (best == node.devices || node.milli[i] < node.milli[best]))
                best = i;
        spot.count = 1;
        spot.device[0] = static_cast<std::uint8_t>(best);
        return spot;
    }
    for (unsigned i = 0; i < node.devices && spot.count < shape.gpus; ++i)
        if (NodeTable::device_fits(node, i, shape))
            spot.device[spot.count++] = static_cast<std::uint8_t>(i);
    if (shape.mig) spot.mig_start = table_.mig_start(node, spot.device[0], shape);
    return spot;
}

unsigned Room::pods_on(const Node& node, const Ask& ask, unsigned most) const {
    if (ask.shape.is_whole() && ask.shape.cpu == 0 && ask.shape.memory == 0) {
        // A node without GPUs has no model either.
        if (node.devices < ask.shape.gpus || ((ask.shape.models >> node.model) & 1U) == 0) {
            return 0;
        }
        return std::min(most, NodeTable::fitting_devices(node, ask.shape) / ask.shape.gpus);
    }
    if (!NodeTable::fits(node, ask.shape)) return 0;
    if (most == 1) return 1;
    if (!ask.request.anti_affinity.empty()) return 1;
    Node copy = node;
    unsigned count = 0;
    for (; count < most; ++count) {
        const auto spot = spot_on(copy, ask);
        if (!spot) break;
        NodeTable::take_from(copy, ask.shape, *spot);
    }
    return count;
}

bool Room::fits(const Nodes& nodes, const Ask& ask) const {
    unsigned missing = ask.gang;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        if (!may_use(ask, static_cast<placement::NodeId>(i))) continue;
        missing -= pods_on(nodes[i], ask, missing);
        if (missing == 0) return true;
    }
    return false;
}

std::vector<PodSpot> Room::take_on(Nodes& nodes, const Ask& ask) const {
    std::vector<PodSpot> taken;
    for (std::size_t i = 0; i < nodes.size() && taken.size() < ask.gang; ++i) {
        const auto id = static_cast<placement::NodeId>(i);
        if (!may_use(ask, id)) continue;
        while (taken.size() < ask.gang) {
            const auto spot = spot_on(nodes[i], ask);
            if (!spot) break;
            NodeTable::take_from(nodes[i], ask.shape, *spot);
            taken.push_back({id, *spot});
            if (!ask.request.anti_affinity.empty()) break;
        }
    }
    if (taken.size() == ask.gang) return taken;
    for (const PodSpot& pod : taken) NodeTable::put_back(nodes[pod.node], ask.shape, pod.spot);
    return {};
}

Spot Room::spot_of(const Placement& where) {
    Spot spot{.count = static_cast<std::uint8_t>(where.devices.size()),
              .mig_start = where.mig_start};
    std::copy_n(where.devices.begin(),
                std::min<std::size_t>(where.devices.size(), placement::kMostDevices),
                spot.device.begin());
    return spot;
}

Placement Room::placement_of(const PodSpot& where) {
    Placement made;
    made.node = where.node;
    made.devices.assign(where.spot.device.begin(), where.spot.device.begin() + where.spot.count);
    made.mig_start = where.spot.mig_start;
    return made;
}

Result<std::vector<Placement>> Room::place(AskId id) {
    const Ask& ask = asks_[id];
    std::vector<Placement> made;
    if (ask.gang == 1) {
        auto one = engine_.place(ask.request);
        if (!one) return std::move(one).error();
        made.push_back(std::move(*one));
    } else {
        auto all = engine_.place_gang(ask.request, ask.gang);
        if (!all) return std::move(all).error();
        made = std::move(*all);
    }
    for (const Placement& pod : made)
        NodeTable::take_from(nodes_[pod.node], ask.shape, spot_of(pod));
    return made;
}

Result<std::vector<Placement>> Room::place_at(AskId id, const std::vector<Placement>& where) {
    const Ask& ask = asks_[id];
    if (where.size() != ask.gang)
        return Error{
            ErrorCode::kInvalidInput,
            std::to_string(where.size()) + " places for a gang of " + std::to_string(ask.gang)};
    const placement::Mark before = engine_.mark();
    std::vector<Placement> made;
    for (const Placement& pod : where) {
        auto placed = engine_.restore(ask.request, pod);
        if (!placed) {
            engine_.undo_to(before);
            engine_.commit();
            return std::move(placed).error();
        }
        made.push_back(pod);
        made.back().id = *placed;
    }
    engine_.commit();
    for (const Placement& pod : made)
        NodeTable::take_from(nodes_[pod.node], ask.shape, spot_of(pod));
    return made;
}

void Room::release(AskId id, const std::vector<Placement>& where) {
    for (const Placement& pod : where) {
        (void)engine_.release(pod.id);  // ids of place() and place_at() are live
        NodeTable::put_back(nodes_[pod.node], asks_[id].shape, spot_of(pod));
    }
}

std::string Room::self_check() const {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        const placement::NodeState state = engine_.state(static_cast<placement::NodeId>(i));
        const Node& mine = nodes_[i];
        if (state.cpu_milli != mine.cpu || state.memory_mib != mine.memory)
            return "node " + std::to_string(i) + ": CPU or memory differ";
        for (unsigned d = 0; d < mine.devices; ++d) {
            const placement::DeviceState& device = state.devices[d];
            if (device.mig ? device.mig_mask != mine.milli[d] : device.milli != mine.milli[d])
                return "node " + std::to_string(i) + " GPU " + std::to_string(d) + " differs";
        }
    }
    return {};
}

}  // namespace aliquot::queue
