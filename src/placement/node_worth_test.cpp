// SPDX-License-Identifier: Apache-2.0
#include "placement/node_worth.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace aliquot::placement {
namespace {

constexpr std::int64_t kMostUsable = std::int64_t{2} << 20;
constexpr std::int64_t kMostSlot = std::int64_t{1'000'000} << 20;  // the dearest

/// One node whose devices are in any state, and a workload of so many types.
class WorthOfANode : public testing::Test {
protected:
    void make(std::size_t types, unsigned devices) {
        table_ = TypeTable();
        books_ = NodeTable();
        NodeSpec spec{.name = "n", .cpu_milli = 1 << 30U, .memory_mib = 1 << 20U};
        spec.devices = static_cast<std::uint8_t>(devices);
        spec.model = "M";
        ASSERT_TRUE(books_.add_node(spec));
        std::vector<TaskType> workload;
        for (std::size_t i = 0; i < types; ++i) workload.push_back({any_request(), 1});
        table_.reset(books_, workload, -2);
        node_ = books_.node(0);
        for (unsigned i = 0; i < devices; ++i)
            node_.milli[i] = static_cast<std::uint16_t>(draw(3) == 0 ? 1'000 : draw(1'000));
        sums_.assign(TypeTable::kMostSums, 7);
        table_.sum_up(node_, sums_.data());
    }
    void value(bool most) {
        worth_ = NodeWorth(model());
        usable_.clear();
        slot_.clear();
        for (std::size_t i = 0; i < model().types.size(); ++i) {
            usable_.push_back(most ? kMostUsable : draw(2 * kMostUsable) - kMostUsable);
            const std::int64_t dearest = draw(2) == 0 ? kMostSlot : 1 << 24;
            slot_.push_back(most ? kMostSlot : draw(2 * dearest) - dearest);
            worth_.set(i, usable_.back(), slot_.back());
        }
    }
    /// In the simplest words, of the devices as they are.
    [[nodiscard]] std::int64_t expected(const Node& node, std::int32_t cpu) const {
        std::int64_t sum = 0;
        for (std::size_t i = 0; i < model().types.size(); ++i) {
            const Shape& shape = table_.type(model().types[i]).shape;
            std::int64_t usable = 0;
            std::int64_t room = 0;
            for (unsigned device = 0; device < node.devices; ++device) {
                if (node.milli[device] < shape.milli) continue;
                usable += node.milli[device];
                room += node.milli[device] / shape.milli;
            }
            std::int64_t slots = room / shape.gpus;
            if (shape.cpu > 0) slots = std::min<std::int64_t>(slots, cpu / shape.cpu);
            sum += slots * slot_[i] + (slots > 0 ? usable * usable_[i] : 0);
        }
        return sum;
    }
    [[nodiscard]] const TypeTable::Model& model() const { return table_.model(node_); }
    std::int64_t draw(std::int64_t below) {
        return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(below));
    }
    Request any_request() {
        Request request;
        request.cpu_milli = static_cast<std::int32_t>(draw(5) == 0 ? 0 : draw(20'000));
        request.gpus = static_cast<std::uint8_t>(draw(3) == 0 ? 1 + draw(8) : 1);
        request.milli = static_cast<std::int32_t>(request.gpus > 1 ? kWholeGpu : 1 + draw(1'000));
        return request;
    }

    std::mt19937_64 random_{5};
    NodeTable books_;
    TypeTable table_;
    Node node_;
    std::vector<std::int16_t> sums_;
    NodeWorth worth_;
    std::vector<std::int64_t> usable_;
    std::vector<std::int64_t> slot_;
};

TEST_F(WorthOfANode, IsTheSumOverTypesOfWhatEachFinds) {
    for (const std::size_t types : {1U, 7U, 8U, 9U, 16U, 17U, 40U, 64U, 65U, 120U, 128U}) {
        for (int round = 0; round < 100; ++round) {
            make(types, static_cast<unsigned>(1 + draw(16)));
            value(round == 0);
            const auto cpu = static_cast<std::int32_t>(draw(round % 2 == 0 ? 100'000 : 1 << 30U));
            const TypeTable::Exchange as_it_is{.sums = sums_.data()};
            ASSERT_EQ(worth_.of(as_it_is, cpu), expected(node_, cpu)) << types << ", " << cpu;
            ASSERT_EQ(worth_.plain(as_it_is, cpu), expected(node_, cpu)) << types << ", " << cpu;

            Node after = node_;
            after.milli[0] = static_cast<std::uint16_t>(draw(node_.milli[0] + 1));
            const TypeTable::Row row = table_.row(after, 0);
            const TypeTable::Exchange one{.sums = sums_.data(),
                                          .before = table_.entries(table_.row(node_, 0)),
                                          .after = table_.entries(row)};
            ASSERT_EQ(worth_.of(one, cpu), expected(after, cpu)) << types << ", " << cpu;
            ASSERT_EQ(worth_.plain(one, cpu), expected(after, cpu)) << types << ", " << cpu;
        }
    }
}

TEST_F(WorthOfANode, IsExactAtItsMost) {
    make(128, 16);
    node_.milli.fill(1'000);
    for (auto& entry : sums_) entry = 16'000;
    value(true);
    constexpr std::int32_t kCpu = 1 << 21;
    std::int64_t all = 0;
    for (std::size_t i = 0; i < model().types.size(); ++i) {
        std::int64_t slots = 16'000 / model().gpus[i];
        if (model().cpu[i] > 0) slots = std::min<std::int64_t>(slots, kCpu / model().cpu[i]);
        all += 16'000 * kMostUsable + slots * kMostSlot;
    }
    EXPECT_EQ(worth_.of({.sums = sums_.data()}, kCpu), all);
    EXPECT_EQ(worth_.plain({.sums = sums_.data()}, kCpu), all);
}

}  // namespace
}  // namespace aliquot::placement
