// SPDX-License-Identifier: Apache-2.0
#include "placement/scorer.h"

#include <bit>

namespace aliquot::placement {

void Scorer::reset(const NodeTable& /*node_table*/, std::span<const TaskType> /*types*/) {}
Spot Scorer::spot(const Node& node, NodeId /*id*/, const Shape& shape) {
    return tightest_spot(node, shape);
}

Breakdown Scorer::breakdown(const Node& node, NodeId id, const Shape& shape) {
    return {.total = -static_cast<std::int64_t>(key(node, id, shape))};
}

void Scorer::refused(const Shape& /*shape*/) {}
void Scorer::leaving(const Node& /*node*/, const Shape& /*shape*/, int /*sign*/, NodeId /*id*/) {}
void Scorer::entered(const Node& /*node*/, NodeId /*id*/) {}

Spot lowest_spot(const Node& node, const Shape& shape) {
    Spot spot;
    for (unsigned i = 0; i < node.devices && spot.count < shape.gpus; ++i)
        if (NodeTable::device_fits(node, i, shape))
            spot.device[spot.count++] = static_cast<std::uint8_t>(i);
    return spot;
}

Spot tightest_spot(const Node& node, const Shape& shape) {
    if (shape.gpus != 1 || shape.is_whole()) return lowest_spot(node, shape);
    Spot spot;
    std::int64_t least = 0;
    for (unsigned i = 0; i < node.devices; ++i) {
        if (!NodeTable::device_fits(node, i, shape)) continue;
        const std::int64_t left = shape.mig
                                      ? 8 - std::popcount(static_cast<std::uint8_t>(node.milli[i]))
                                  : shape.milli == 0 ? node.mib[i]
                                                     : node.milli[i];
        if (spot.count == 1 && left >= least) continue;
        spot.count = 1;
        spot.device[0] = static_cast<std::uint8_t>(i);
        least = left;
    }
    return spot;
}

std::uint64_t state_number(std::uint64_t device_sum, std::int32_t cpu, const Node& node) {
    std::uint64_t x =
        device_sum + (static_cast<std::uint64_t>(node.model) << 56U) +
        (static_cast<std::uint64_t>(static_cast<std::uint32_t>(node.device_mib)) << 20U);
    x ^= static_cast<std::uint64_t>(static_cast<std::uint32_t>(cpu)) * 0xD6E8FEB86659FD93ULL;
    x ^= x >> 32U;
    x *= 0xD6E8FEB86659FD93ULL;
    x ^= x >> 29U;
    return x | 1U;
}

unsigned memo_bits(std::size_t nodes) {
    const unsigned wanted = static_cast<unsigned>(std::bit_width(nodes * 16));
    return wanted < 16 ? 16 : wanted > 20 ? 20 : wanted;
}

Spot linked_spot(const NodeTable& node_table, const Node& node, const Shape& shape) {
    const NodeId id = static_cast<NodeId>(&node - &node_table.node(0));
    if (shape.gpus == 1 || id >= node_table.size()) return lowest_spot(node, shape);
    const auto& group = node_table.spec(id).link_group;
    std::array<unsigned, 256> free{};
    for (unsigned i = 0; i < node.devices; ++i) free[group[i]] += node.is_whole(i) ? 1U : 0U;
    Spot spot;
    std::uint32_t taken = 0;
    while (spot.count < shape.gpus) {
        const unsigned wanted = shape.gpus - spot.count;
        unsigned best = 256;
        for (unsigned g = 0; g < 256; ++g) {
            if (free[g] == 0) continue;
            const bool enough = free[g] >= wanted;
            const bool best_enough = best < 256 && free[best] >= wanted;
            if (best == 256 || (enough && (!best_enough || free[g] < free[best])) ||
                (!enough && !best_enough && free[g] > free[best]))
                best = g;
        }
        for (unsigned i = 0; i < node.devices && spot.count < shape.gpus; ++i) {
            if (group[i] != best || !node.is_whole(i)) continue;
            taken |= 1U << i;
            ++spot.count;
        }
        free[best] = 0;
    }
    spot.count = 0;
    for (unsigned i = 0; i < node.devices; ++i)
        if (((taken >> i) & 1U) != 0) spot.device[spot.count++] = static_cast<std::uint8_t>(i);
    return spot;
}

}  // namespace aliquot::placement
