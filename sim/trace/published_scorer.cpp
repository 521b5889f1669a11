// SPDX-License-Identifier: Apache-2.0
// The baselines of the FGD experiment, rounding included. Floating-point steps keep the published
// order, because the integer that comes out decides ties.
#include "sim/trace/published_scorer.h"

#include <algorithm>
#include <array>

#include "placement/scorer.h"

namespace aliquot::sim::trace {
namespace {

using namespace placement;  // NOLINT(google-build-using-namespace)

constexpr double kMostCpu = 128'000;  // milli: what the published scores normalise by
constexpr double kMostGpu = 8'000;
constexpr std::int64_t kTopScore = 100;

std::int64_t free_gpu(const Node& node) {
    std::int64_t sum = 0;
    for (unsigned i = 0; i < node.devices; ++i)
        sum += node.is_mig(i) ? 0 : static_cast<std::int64_t>(node.milli[i]);
    return sum;
}

std::int64_t wanted_gpu(const Shape& shape) {
    return static_cast<std::int64_t>(shape.milli) * shape.gpus;
}

class BestFit final : public Scorer {
public:
    Key key(const Node& node, NodeId /*id*/, const Shape& shape) override {
        double score = 0;
        score += static_cast<double>(node.cpu - shape.cpu) / kMostCpu * 0.5;
        score += static_cast<double>(free_gpu(node) - wanted_gpu(shape)) / kMostGpu * 0.5;
        score = (1.0 - score) * static_cast<double>(kTopScore);
        return static_cast<Key>(score);
    }
};

class DotProduct final : public Scorer {
public:
    Key key(const Node& node, NodeId /*id*/, const Shape& shape) override {
        double product = 0;
        product +=
            static_cast<double>(node.cpu) / kMostCpu * (static_cast<double>(shape.cpu) / kMostCpu);
        product += static_cast<double>(free_gpu(node)) / kMostGpu *
                   (static_cast<double>(wanted_gpu(shape)) / kMostGpu);
        product /= 2.0;
        return static_cast<Key>(static_cast<double>(kTopScore) * (1 - product));
    }
};

class Packing final : public Scorer {
public:
    Key key(const Node& node, NodeId /*id*/, const Shape& shape) override {
        if (shape.gpus == 0) return 0;
        std::array<std::int64_t, kMostDevices> left{};
        unsigned whole = 0;
        for (unsigned i = 0; i < node.devices; ++i) {
            left[i] = node.is_mig(i) ? 0 : node.milli[i];
            whole += left[i] == kWholeGpu ? 1U : 0U;
        }
        if (whole == node.devices)
            return static_cast<Key>(std::max<std::int64_t>(kTopScore / 3 - whole, whole));
        std::sort(left.begin(), left.begin() + node.devices);
        unsigned wanted = shape.gpus;
        std::int64_t opened = 0;
        std::int64_t spare = 0;
        for (unsigned i = 0; i < node.devices && wanted > 0; ++i) {
            if (left[i] < shape.milli) continue;
            --wanted;
            opened += left[i] == kWholeGpu ? 1 : 0;
            spare += left[i] * 100 / kWholeGpu;
        }
        if (opened > 0) return static_cast<Key>(std::max(kTopScore / 2 - opened, kTopScore / 3));
        return static_cast<Key>(std::max(kTopScore - spare / 10, kTopScore / 2));
    }
};

/// Likes nodes that already run tasks of the same kind: shares, one GPU, two, ...
class Clustering final : public Scorer {
public:
    void reset(const NodeTable& node_table, std::span<const TaskType> /*types*/) override {
        kinds_.resize(node_table.size());
    }

    Key key(const Node& node, NodeId id, const Shape& shape) override {
        if (shape.gpus == 0) return 0;
        const auto& kinds = kinds_[id];
        const auto used = static_cast<std::size_t>(
            std::count_if(kinds.begin(), kinds.end(), [](auto n) { return n > 0; }));
        const std::int64_t fill = kTopScore / 4 *
                                  (static_cast<std::int64_t>(kMostGpu) - free_gpu(node)) /
                                  static_cast<std::int64_t>(kMostGpu);
        if (kinds[kind_of(shape)] > 0)
            return static_cast<Key>(fill + (used == 1 ? kTopScore * 3 / 4 : kTopScore * 2 / 4));
        return static_cast<Key>(used == 0 ? fill + kTopScore / 4 : fill);
    }

    void leaving(const Node& /*node*/, const Shape& shape, int sign, NodeId id) override {
        if (shape.gpus > 0)
            kinds_[id][kind_of(shape)] =
                static_cast<std::uint16_t>(kinds_[id][kind_of(shape)] + sign);
    }
    [[nodiscard]] std::size_t bytes() const override { return kinds_.size() * sizeof(kinds_[0]); }

private:
    static std::size_t kind_of(const Shape& shape) { return shape.is_whole() ? shape.gpus : 0; }

    std::vector<std::array<std::uint16_t, kMostDevices + 1>> kinds_;  // 0: shares and MIG
};

class Spread final : public Scorer {
public:
    Key key(const Node& node, NodeId /*id*/, const Shape& shape) override {
        return static_cast<Key>(shape.gpus > 0 ? free_gpu(node) : node.cpu);
    }
    Spot spot(const Node& node, NodeId /*id*/, const Shape& shape) override {
        if (!shape.is_share()) return lowest_spot(node, shape);
        Spot spot;
        for (unsigned i = 0; i < node.devices; ++i) {
            if (!NodeTable::device_fits(node, i, shape)) continue;
            if (spot.count == 1 && node.milli[i] <= node.milli[spot.device[0]]) continue;
            spot.count = 1;
            spot.device[0] = static_cast<std::uint8_t>(i);
        }
        return spot;
    }
};

/// A key per (node, state, shape) that looks like chance and is the same in every run.
class Random final : public Scorer {
public:
    explicit Random(std::uint64_t seed) : seed_(seed) {}

    Key key(const Node& node, NodeId id, const Shape& shape) override {
        return static_cast<Key>(draw(node, id, shape) >> 34U);
    }
    Spot spot(const Node& node, NodeId id, const Shape& shape) override {
        if (!shape.is_share()) return lowest_spot(node, shape);
        const unsigned fitting = NodeTable::fitting_devices(node, shape);
        auto skip = static_cast<unsigned>((draw(node, id, shape) & 0xFFFFFFU) % fitting);
        Spot spot{.count = 1};
        for (unsigned i = 0; i < node.devices; ++i) {
            if (!NodeTable::device_fits(node, i, shape) || skip-- > 0) continue;
            spot.device[0] = static_cast<std::uint8_t>(i);
            break;
        }
        return spot;
    }
    /// Every placement rolls the dice of all nodes again.
    void entered(const Node& /*node*/, NodeId /*id*/) override { ++turn_; }
    [[nodiscard]] std::uint32_t epoch() const override { return turn_; }
    std::uint32_t save() override { return turn_; }
    void restore(std::uint32_t saved) override { turn_ = saved; }

private:
    [[nodiscard]] std::uint64_t draw(const Node& node, NodeId id, const Shape& shape) const {
        std::uint64_t x = seed_ ^ (std::uint64_t{id} << 32U) ^ turn_;
        x = state_number(x, shape.cpu, node);
        return state_number(x, static_cast<std::int32_t>(turn_), node);
    }

    std::uint64_t seed_;
    std::uint32_t turn_ = 0;
};

}  // namespace

std::unique_ptr<Scorer> published_scorer(Policy policy, std::uint64_t seed) {
    switch (policy) {
        case Policy::kFgd:
            return fgd_scorer();
        case Policy::kBestFit:
            return std::make_unique<BestFit>();
        case Policy::kDotProduct:
            return std::make_unique<DotProduct>();
        case Policy::kPacking:
            return std::make_unique<Packing>();
        case Policy::kClustering:
            return std::make_unique<Clustering>();
        case Policy::kSpread:
            return std::make_unique<Spread>();
        default:
            return std::make_unique<Random>(seed);
    }
}

}  // namespace aliquot::sim::trace
