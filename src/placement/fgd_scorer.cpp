// SPDX-License-Identifier: Apache-2.0
// Fragmentation gradient descent as published: the increase of expected unusable GPU, squeezed
// through a sigmoid and cut to an integer of 0..100. Its results depend on that cut and on the order of
// the sums, so both are kept.
#include <cmath>

#include "placement/fragmentation.h"
#include "placement/scorer.h"

namespace aliquot::placement {
namespace {

class Fgd final : public Scorer {
public:
    void reset(const Books& books, std::span<const TaskType> types) override {
        types_ = typical_shapes(books, types);
        memo_.resize(memo_bits(books.size()));
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

    Breakdown breakdown(const Node& node, NodeId /*id*/, const Shape& shape) override {
        Node after = node;
        apply(after, shape, choose(node, shape).device);
        const auto cost = static_cast<std::int64_t>(expected(after) - expected(node));
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

    static void apply(Node& node, const Shape& shape, unsigned device) {
        node.cpu -= shape.cpu;
        if (shape.gpus == 0) return;
        if (shape.is_whole()) {
            unsigned wanted = shape.gpus;
            for (unsigned i = 0; i < node.devices && wanted > 0; ++i) {
                if (!node.is_whole(i)) continue;
                change(node, i, 0, 0);
                --wanted;
            }
        } else if (shape.mig) {
            const MigProfile& profile = *Books::profile_on(node, shape);
            for (unsigned start = 0; start < 8; ++start) {
                if (((profile.starts >> start) & 1U) == 0 ||
                    (node.milli[device] & slices_at(profile, start)) != 0)
                    continue;
                change(node, device,
                       static_cast<std::uint16_t>(node.milli[device] | slices_at(profile, start)),
                       node.mib[device]);
                break;
            }
        } else {
            change(node, device, static_cast<std::uint16_t>(node.milli[device] - shape.milli),
                   node.mib[device] - shape.mib);
        }
    }

    static void change(Node& node, unsigned device, std::uint16_t milli, std::int32_t mib) {
        node.device_sum -= Books::device_hash(node, device);
        node.milli[device] = milli;
        node.mib[device] = mib;
        node.device_sum += Books::device_hash(node, device);
    }

    Choice choose(const Node& node, const Shape& shape) {
        const double before = expected(node);
        if (!shape.is_share() && !shape.mig) {
            Node after = node;
            apply(after, shape, 0);
            return {squeezed(before, expected(after)), 0};
        }
        Choice best;
        bool any = false;
        for (unsigned i = 0; i < node.devices; ++i) {
            if (!Books::device_fits(node, i, shape)) continue;
            Node after = node;
            apply(after, shape, i);
            const Key score = squeezed(before, expected(after));
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

std::unique_ptr<Scorer> make_fgd_scorer() { return std::make_unique<Fgd>(); }

}  // namespace aliquot::placement
