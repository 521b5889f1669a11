// SPDX-License-Identifier: Apache-2.0
// Fragmentation gradient descent as published: the increase of expected unusable GPU, squeezed
// through a sigmoid and cut to an integer of 0..100. Its results depend on that cut and on the order of
// the sums, so both are kept.
#include <cmath>

#include "placement/fragmentation.h"
#include "placement/scorer.h"
#include "sim/trace/published_scorer.h"

namespace aliquot::sim::trace {
namespace {

using namespace placement;  // NOLINT(google-build-using-namespace)

class Fgd final : public Scorer {
public:
    void reset(const NodeTable& node_table, std::span<const TaskType> types) override {
        types_ = typical_shapes(node_table, types);
        memo_.resize(memo_bits(node_table.size()));
        ++epoch_;
    }

    Key key(const Node& node, NodeId /*id*/, const Shape& shape) override {
        return choose(node, shape).score;
    }

    Spot spot(const Node& node, NodeId /*id*/, const Shape& shape) override {
        if (!shape.is_share() && !shape.mig) return lowest_spot(node, shape);
        Spot spot{.count = 1};
        spot.device[0] = static_cast<std::uint8_t>(choose(node, shape).device);
        return spot;
    }

    Breakdown breakdown(const Node& node, NodeId id, const Shape& shape) override {
        const Spot where = spot(node, id, shape);
        const auto cost =
            static_cast<std::int64_t>(expected_after(node, shape, where) - expected(node));
        return {.fragmentation = cost, .total = -choose(node, shape).score};
    }

    [[nodiscard]] std::uint32_t epoch() const override { return epoch_; }
    [[nodiscard]] std::size_t bytes() const override { return memo_.bytes(); }

private:
    struct Choice {
        Key score = 0;
        unsigned device = 0;
    };

    double expected(const Node& node) {
        const std::uint64_t state = state_number(node.device_sum, node.cpu, node);
        StateMemo::Slot& slot = memo_.slot(state);
        if (slot.state != state) {
            slot.real = fragmented(node, types_);
            slot.state = state;
        }
        return slot.real;
    }

    static Key squeezed(double before, double after) {
        const double gain = (before - after) / 1000;
        return static_cast<Key>(1.0 / (1.0 + std::exp(-gain)) * 100.0);
    }

    struct DeviceState {
        std::uint16_t milli = 0;
        std::int32_t mib = 0;
    };

    /// What taking the shape makes of one device.
    static DeviceState taken(const Node& node, unsigned device, const Shape& shape) {
        if (shape.is_whole()) return {};
        if (!shape.mig)
            return {static_cast<std::uint16_t>(node.milli[device] - shape.milli),
                    node.free_mib(device) - shape.mib};
        const MigProfile& profile = *NodeTable::profile_on(node, shape);
        unsigned start = 0;
        while (((profile.starts >> start) & 1U) == 0 ||
               (node.milli[device] & slices_at(profile, start)) != 0)
            ++start;
        return {static_cast<std::uint16_t>(node.milli[device] | slices_at(profile, start)),
                node.mib[device]};
    }

    static Node after(const Node& node, const Shape& shape, const Spot& spot) {
        Node copy = node;
        copy.cpu -= shape.cpu;
        for (unsigned i = 0; i < spot.count; ++i) {
            const unsigned device = spot.device[i];
            const DeviceState state = taken(node, device, shape);
            copy.milli[device] = state.milli;
            copy.mib[device] = state.mib;
            if (state.mib != node.device_mib)
                copy.memory_used = static_cast<std::uint16_t>(copy.memory_used | 1U << device);
        }
        return copy;
    }

    double expected_after(const Node& node, const Shape& shape, const Spot& spot) {
        std::uint64_t sum = node.device_sum;
        for (unsigned i = 0; i < spot.count; ++i) {
            const DeviceState state = taken(node, spot.device[i], shape);
            sum += NodeTable::device_hash(state.milli, state.mib, shape.mig) -
                   NodeTable::device_hash(node, spot.device[i]);
        }
        const std::uint64_t state = state_number(sum, node.cpu - shape.cpu, node);
        StateMemo::Slot& slot = memo_.slot(state);
        if (slot.state != state) {
            slot.real = fragmented(after(node, shape, spot), types_);
            slot.state = state;
        }
        return slot.real;
    }

    static bool same_as_earlier(const Node& node, unsigned device) {
        for (unsigned i = 0; i < device; ++i)
            if (node.same_state(i, device)) return true;
        return false;
    }

    Choice choose(const Node& node, const Shape& shape) {
        const double before = expected(node);
        if (!shape.is_share() && !shape.mig)
            return {squeezed(before, expected_after(node, shape, lowest_spot(node, shape))), 0};
        Choice best;
        bool any = false;
        for (unsigned i = 0; i < node.devices; ++i) {
            if (!NodeTable::device_fits(node, i, shape) || same_as_earlier(node, i)) continue;
            Spot spot{.count = 1};
            spot.device[0] = static_cast<std::uint8_t>(i);
            const Key score = squeezed(before, expected_after(node, shape, spot));
            if (any && score <= best.score) continue;
            best = {score, i};
            any = true;
        }
        return best;
    }

    std::vector<TypicalShape> types_;
    StateMemo memo_;
    std::uint32_t epoch_ = 0;
};

}  // namespace

std::unique_ptr<Scorer> fgd_scorer() { return std::make_unique<Fgd>(); }

}  // namespace aliquot::sim::trace
