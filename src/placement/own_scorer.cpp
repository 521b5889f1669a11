// SPDX-License-Identifier: Apache-2.0
// Our policy: a placement costs the worth that it takes away from a node beyond its own size, in integers.
// source: docs/internals/placement.md
#include <algorithm>
#include <array>
#include <cmath>

#include "placement/large_tasks.h"
#include "placement/node_classes.h"
#include "placement/node_worth.h"
#include "placement/scorer.h"
#include "placement/slot_prices.h"
#include "placement/type_table.h"

namespace aliquot::placement {
namespace {

constexpr int kWeightBits = SlotPrices::kBits;  // of a weight after the point
constexpr int kKeyBits = 8;                     // of a key after the point: 1/256 milli
constexpr std::size_t kFew = 4;                 // a part of all nodes
constexpr unsigned kChangesPerLook = 64;        // node changes between two looks at scarcity

constexpr double kMostWeight = 2;  // of a milli: what NodeWorth keeps

class Own final : public Scorer {
public:
    explicit Own(const Weights& weights) : weights_(weights), large_(weights) {}

    void reset(const NodeTable& node_table, std::span<const TaskType> types) override {
        node_table_ = &node_table;
        ++resets_;
        table_.reset(node_table, types, weights_.size);
        usable_weight_.assign(table_.count(), 0);
        for (unsigned i = 0; i < table_.count(); ++i)
            usable_weight_[i] =
                std::llround(std::clamp(weights_.fragmentation * table_.type(i).weight,
                                        -kMostWeight, kMostWeight) *
                             (1 << kWeightBits));
        in_cluster_.assign(table_.count(), 0);
        const auto nodes = static_cast<double>(std::max<std::size_t>(node_table.size(), 1));
        order_step_ = std::llround(weights_.order * 256.0 * 65536 / nodes);
        prices_ = {};
        known_.assign(node_table.size(), {});
        stride_ = 0;
        for (std::size_t model = 0; model < node_table.model_count(); ++model)
            stride_ = std::max(stride_, 2 * table_.model_at(model).padded());
        sums_.assign(node_table.size() * stride_ + kBlockOfTypes, 0);
        for (NodeId id = 0; id < node_table.size(); ++id) entered(node_table.node(id), id);
        classes_.reset(node_table);
        reach_ = classes_.reach_of(table_);
        changes_ = 0;
        price_again(true);
    }

    Key key(const Node& node, NodeId id, const Shape& shape) override {
        std::int64_t cost =
            choose(node, id, shape).cost + fixed_cost(node, id) + drain_cost(node, id);
        cost += static_cast<std::int64_t>(node.position) * order_step_ >> 16U;
        return static_cast<Key>(-std::clamp<std::int64_t>(cost, -kMostKey, kMostKey));
    }

    void ask_for(NodeId id) const override {
        constexpr std::size_t kLine = 64 / sizeof(std::int16_t);
        __builtin_prefetch(&known_[id]);
        for (std::size_t at = 0; at < stride_; at += kLine)
            __builtin_prefetch(&sums_[id * stride_ + at]);
    }

    Spot spot(const Node& node, NodeId id, const Shape& shape) override {
        if (shape.gpus == 0) return {};
        if (shape.is_whole()) return linked_spot(*node_table_, node, shape);
        Spot spot{.count = 1};
        spot.device[0] = static_cast<std::uint8_t>(choose(node, id, shape).device);
        return spot;
    }

    Breakdown breakdown(const Node& node, NodeId id, const Shape& shape) override;

    void leaving(const Node& node, const Shape& shape, int sign, NodeId id) override {
        count_room(node, id, -1);
        large_.changed(shape, sign);
    }
    void refused(const Shape& shape) override { large_.refused(shape); }
    void entered(const Node& node, NodeId id) override {
        count_room(node, id, 1);
        repriced_.clear();
        if (++changes_ % kChangesPerLook == 0) price_again(false);
    }

    [[nodiscard]] std::uint32_t epoch() const override { return epoch_; }
    [[nodiscard]] std::span<const NodeId> repriced() const override { return repriced_; }

    std::uint32_t save() override {
        saved_.push_back(
            {changes_, epoch_, repricings_, resets_, large_.recent(), prices_, drain_});
        return static_cast<std::uint32_t>(saved_.size() - 1);
    }
    void restore(std::uint32_t saved) override {
        const Saved& was = saved_[saved];
        changes_ = was.changes;
        large_.set_recent(was.recent);
        if (resets_ != was.resets) {  // prices of another workload: no use any more
            price_again(true);
        } else if (epoch_ != was.epoch || repricings_ != was.repricings) {
            prices_ = was.prices;
            drain_ = was.drain;
            set_values();
            epoch_ = ++last_epoch_;  // a new number: nothing stale is taken for it
        }
        saved_.resize(saved);
    }
    void forget_saved() override { saved_.clear(); }

    [[nodiscard]] std::size_t bytes() const override {
        return sums_.capacity() * sizeof(std::int16_t) + known_.capacity() * sizeof(Known) +
               table_.bytes();
    }

private:
    static constexpr std::int64_t kMostKey = 2'000'000'000;
    /// What is known of a node. Its sums are of these devices, its worth is of this CPU and epoch.
    struct Known {
        std::uint64_t devices = 0;  // Node::device_sum; 0: nothing
        std::int64_t worth = 0;
        std::int32_t cpu = -1;
        std::uint32_t epoch = 0;
    };
    struct Choice {
        std::int64_t cost = 0;  // kKeyBits after the point
        unsigned device = 0;
    };
    struct Saved {
        std::uint32_t changes = 0;
        std::uint32_t epoch = 0;
        std::uint32_t repricings = 0;
        std::uint32_t resets = 0;
        LargeTasks::Recent recent;
        SlotPrices prices;
        std::vector<std::int64_t> drain;
    };

    /// What a part-filled device state would be after the shape took its part.
    TypeTable::Row row_after(const Node& node, unsigned device, const Shape& shape) {
        std::uint16_t milli = node.milli[device];
        std::int32_t mib = node.free_mib(device);
        if (shape.mig) {
            const unsigned start = node_table_->mig_start(node, device, shape);
            milli = static_cast<std::uint16_t>(
                milli | slices_at(*NodeTable::profile_on(node, shape), start));
        } else if (shape.is_whole()) {
            milli = 0;
            mib = 0;
        } else {
            milli = static_cast<std::uint16_t>(milli - shape.milli);
            mib -= shape.mib;
        }
        return table_.row(node, milli, mib, shape.mig);
    }

    /// Sums of a node as it is in the table; of a copy they are made for once.
    const std::int16_t* sums_of(const Node& node, NodeId id) {
        std::int16_t* const sums = sums_.data() + id * stride_;
        Known& known = known_[id];
        if (known.devices == node.device_sum) return sums;
        table_.sum_up(node, sums);
        known = {.devices = node.device_sum};
        return sums;
    }

    std::int64_t worth_now(const Node& node, NodeId id, const std::int16_t* sums) {
        Known& known = known_[id];
        if (known.cpu != node.cpu || known.epoch != epoch_) {
            known.worth = worth_[node.model].of({.sums = sums}, node.cpu);
            known.cpu = node.cpu;
            known.epoch = epoch_;
        }
        return known.worth;
    }

    /// The node once the shape has taken its part of one device.
    TypeTable::Exchange after_one(const Node& node, const std::int16_t* sums, const Shape& shape,
                                  unsigned device) {
        const TypeTable::Row after = row_after(node, device, shape);
        return {.sums = sums,
                .before = table_.entries(table_.row(node, device)),
                .after = table_.entries(after)};
    }
    /// Sums once the shape has taken its parts of all devices of the spot.
    void exchange_all(std::int16_t* changed, const Node& node, const std::int16_t* sums,
                      const Shape& shape, const Spot& spot) {
        std::copy_n(sums, 2 * table_.model(node).padded(), changed);
        for (unsigned i = 0; i < spot.count; ++i)
            TypeTable::exchange(changed, after_one(node, changed, shape, spot.device[i]),
                                table_.model(node));
    }

    std::int64_t worth_after(const Node& node, const std::int16_t* sums, const Shape& shape,
                             const Spot& spot) {
        const std::int32_t cpu = node.cpu - shape.cpu;
        const NodeWorth& worth = worth_[node.model];
        if (spot.count == 0) return worth.of({.sums = sums}, cpu);
        if (spot.count == 1) return worth.of(after_one(node, sums, shape, spot.device[0]), cpu);
        std::array<std::int16_t, TypeTable::kMostSums> changed;
        exchange_all(changed.data(), node, sums, shape, spot);
        return worth.of({.sums = changed.data()}, cpu);
    }

    std::int64_t waste_of(const Node& node, const Shape& shape, unsigned device) {
        const double more =
            table_.waste(row_after(node, device, shape)) - table_.waste(table_.row(node, device));
        return std::llround(weights_.waste * more * (1 << kKeyBits));
    }

    /// Cost of the best device (or of the lowest whole ones); GPU-less nodes and requests too.
    Choice choose(const Node& node, NodeId id, const Shape& shape) {
        if (node.devices == 0) return {};
        const std::int16_t* const sums = sums_of(node, id);
        const std::int64_t before = worth_now(node, id, sums);
        if (!shape.is_share() && !shape.mig) {
            const Spot spot = lowest_spot(node, shape);
            return {(before - worth_after(node, sums, shape, spot)) >> (kWeightBits - kKeyBits), 0};
        }
        Choice best;
        bool any = false;
        for (unsigned i = 0; i < node.devices; ++i) {
            if (!NodeTable::device_fits(node, i, shape) || node.is_like_earlier(i)) continue;
            Spot spot{.count = 1};
            spot.device[0] = static_cast<std::uint8_t>(i);
            const std::int64_t cost =
                ((before - worth_after(node, sums, shape, spot)) >> (kWeightBits - kKeyBits)) +
                waste_of(node, shape, i);
            if (any && cost >= best.cost) continue;
            best = {cost, i};
            any = true;
        }
        return best;
    }

    [[nodiscard]] std::int64_t price_cost(NodeId id) const {
        return std::llround(weights_.price * node_table_->spec(id).milli_price_per_hour / 1000.0 *
                            (1 << kKeyBits));
    }
    [[nodiscard]] std::int64_t power_cost(NodeId id) const {
        return std::llround(weights_.power * node_table_->spec(id).idle_watts * (1 << kKeyBits));
    }
    [[nodiscard]] std::int64_t drain_cost(const Node& node, NodeId id) const {
        // An empty one is in the slots already.
        if (node.devices < 2 || node.live == 0) return 0;
        return LargeTasks::of_next(drain_[classes_.index_of(id)], node.live);
    }
    /// Waking an idle node costs its price and its idle power.
    [[nodiscard]] std::int64_t fixed_cost(const Node& node, NodeId id) const {
        return node.live == 0 ? price_cost(id) + power_cost(id) : 0;
    }

    void count_room(const Node& node, NodeId id, int sign);
    void price_again(bool adopt);
    bool reprice_some(const SlotPrices& fresh);
    [[nodiscard]] std::vector<std::int64_t> worth_of_drained() const;
    void set_values();

    Weights weights_;
    const NodeTable* node_table_ = nullptr;
    TypeTable table_;
    std::vector<Known> known_;        // by node
    std::vector<std::int16_t> sums_;  // by node, stride_ entries each
    std::size_t stride_ = 0;
    std::vector<NodeWorth> worth_;             // by model
    std::vector<std::int64_t> usable_weight_;  // per type and milli
    SlotPrices prices_;
    std::vector<std::int64_t> in_cluster_;  // slots per type, all nodes
    NodeClasses classes_;
    std::vector<double> reach_;     // by type
    std::vector<NodeId> repriced_;  // by the latest change
    std::uint32_t repricings_ = 0;
    std::vector<std::int64_t> drain_;  // by class: what one more task on such a node costs
    LargeTasks large_;
    std::int64_t free_ = 0;  // milli, all nodes
    std::int64_t order_step_ = 0;
    std::uint32_t changes_ = 0;
    std::uint32_t epoch_ = 0;
    std::uint32_t last_epoch_ = 0;
    std::uint32_t resets_ = 0;
    std::vector<Saved> saved_;
};

void Own::count_room(const Node& node, NodeId id, int sign) {
    if (node.devices == 0) return;
    TypeTable::Finds finds;
    const TypeTable::Model& model = table_.model(node);
    TypeTable::find(finds, {.sums = sums_of(node, id)}, model, node.cpu);
    for (std::size_t i = 0; i < model.types.size(); ++i)
        in_cluster_[model.types[i]] += sign * std::int64_t{finds.slots[i]};
}

void Own::price_again(bool adopt) {
    if (!adopt && prices_.all.empty()) return;  // nodes are still being entered
    SlotPrices fresh = slot_prices(table_, *node_table_, large_, weights_, in_cluster_);
    const bool moved = adopt || prices_.have_moved(fresh);
    if (!moved && (!reprice_some(fresh) || !repriced_.empty())) return;
    prices_ = std::move(fresh);
    drain_ = worth_of_drained();
    set_values();
    epoch_ = ++last_epoch_;
}

/// The price of a slot that few nodes can have jumps all the time: only these nodes are rated anew then.
/// False: no price jumped. Where it concerns many nodes `repriced_` stays empty: all are to be rated.
bool Own::reprice_some(const SlotPrices& fresh) {
    std::vector<bool> concerned(classes_.all().size(), false);
    std::vector<unsigned> jumped;
    for (unsigned i = 0; i < table_.count(); ++i) {
        const TypeTable::Type& type = table_.type(i);
        if (type.shape.gpus < 2 || !prices_.has_jumped(fresh, i, type.size, reach_[i])) continue;
        jumped.push_back(i);
        for (std::size_t k = 0; k < concerned.size(); ++k)
            concerned[k] = concerned[k] || classes_.all()[k].can_have(table_, i);
    }
    if (jumped.empty()) return false;
    std::size_t nodes = 0;
    for (std::size_t k = 0; k < concerned.size(); ++k)
        if (concerned[k]) nodes += classes_.nodes_of(k).size();
    if (nodes * kFew > node_table_->size()) return true;
    for (const unsigned i : jumped) {
        prices_.all[i] += fresh.large[i] - prices_.large[i];
        prices_.large[i] = fresh.large[i];
    }
    drain_ = worth_of_drained();
    set_values();
    ++repricings_;
    for (std::size_t k = 0; k < concerned.size(); ++k) {
        if (!concerned[k]) continue;
        for (const NodeId id : classes_.nodes_of(k)) {
            known_[id].cpu = -1;
            repriced_.push_back(id);
        }
    }
    return true;
}

void Own::set_values() {
    worth_.clear();
    for (std::size_t model = 0; model < node_table_->model_count(); ++model) {
        const auto& types = table_.model_at(model).types;
        NodeWorth& worth = worth_.emplace_back(table_.model_at(model));
        for (std::size_t i = 0; i < types.size(); ++i)
            worth.set(i, usable_weight_[types[i]], prices_.all[types[i]]);
    }
}

/// By class: what the slots for large tasks of an empty node are worth, once drained.
std::vector<std::int64_t> Own::worth_of_drained() const {
    std::vector<std::int64_t> worth(classes_.all().size(), 0);
    for (std::size_t k = 0; k < worth.size(); ++k) {
        const NodeClass& one = classes_.all()[k];
        if (one.devices < 2) continue;  // of no model, or without room for a large task
        double slots = 0;
        for (const auto type : table_.model_at(one.model).types)
            slots += static_cast<double>(prices_.large[type]) * one.slots(table_.type(type).shape);
        worth[k] =
            std::llround(large_.drained(slots / (1 << kWeightBits), one.devices) * (1 << kKeyBits));
    }
    return worth;
}

Breakdown Own::breakdown(const Node& node, NodeId id, const Shape& shape) {
    Breakdown parts;
    if (node.devices > 0) {
        const Spot where = spot(node, id, shape);
        const TypeTable::Model& model = table_.model(node);
        const std::int16_t* const sums = sums_of(node, id);
        std::array<std::int16_t, TypeTable::kMostSums> changed;
        exchange_all(changed.data(), node, sums, shape, where);
        TypeTable::Finds finds;
        TypeTable::find(finds, {.sums = sums}, model, node.cpu);
        std::int64_t usable = worth_[node.model].usable(finds);
        TypeTable::find(finds, {.sums = changed.data()}, model, node.cpu - shape.cpu);
        usable -= worth_[node.model].usable(finds);
        const std::int64_t all = worth_now(node, id, sums) - worth_after(node, sums, shape, where);
        parts.fragmentation = usable >> kWeightBits;
        parts.packing = ((all - usable) >> kWeightBits) + (drain_cost(node, id) >> kKeyBits);
        if (shape.is_share() || shape.mig)
            parts.waste = waste_of(node, shape, where.device[0]) >> kKeyBits;
    }
    parts.order = (static_cast<std::int64_t>(node.position) * order_step_ >> 16U) >> kKeyBits;
    if (node.live == 0) {
        parts.price = price_cost(id) >> kKeyBits;
        parts.power = power_cost(id) >> kKeyBits;
    }
    parts.total = -(static_cast<std::int64_t>(key(node, id, shape)) >> kKeyBits);
    return parts;
}

}  // namespace

std::unique_ptr<Scorer> make_own_scorer(const Weights& weights) {
    return std::make_unique<Own>(weights);
}

}  // namespace aliquot::placement
