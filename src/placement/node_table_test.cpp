// SPDX-License-Identifier: Apache-2.0
#include "placement/node_table.h"

#include <gtest/gtest.h>

#include "placement/random_cluster.h"

namespace aliquot::placement {
namespace {

NodeSpec node(const std::string& name, std::uint8_t gpus, std::int32_t device_mib = 16'384) {
    return {.name = name,
            .cpu_milli = 8'000,
            .memory_mib = 32'768,
            .devices = gpus,
            .model = gpus > 0 ? "A100" : "",
            .device_mib = device_mib};
}

Spot at(std::uint8_t device, std::uint8_t start = 0) {
    Spot spot{.count = 1, .mig_start = start};
    spot.device[0] = device;
    return spot;
}

class BooksTest : public testing::Test {
protected:
    NodeId add(NodeSpec spec) { return *node_table_.add_node(std::move(spec)); }
    Shape shape(const Request& request) { return node_table_.shape_of(*checked(request)); }
    std::string refusal(NodeSpec spec) {
        const auto added = node_table_.add_node(std::move(spec));
        return added ? "" : added.error().message;
    }
    NodeTable node_table_;
};

TEST_F(BooksTest, RefuseNodesThatCannotBe) {
    EXPECT_EQ(refusal(node("a", 17)), "node a: 17 GPUs, expected at most 16");
    NodeSpec spec = node("a", 1);
    spec.cpu_milli = -1;
    EXPECT_EQ(refusal(spec), "node a: negative CPU or memory");
    spec = node("a", 1);
    spec.model.clear();
    EXPECT_EQ(refusal(spec), "node a: has GPUs but no model");
    spec = node("a", 2);
    spec.mig_devices = 4;
    EXPECT_EQ(refusal(spec), "node a: MIG mode on a GPU that it does not have");
    spec.mig_devices = 2;
    EXPECT_EQ(refusal(spec), "node a: MIG mode, but no geometry of model A100");
    EXPECT_EQ(refusal(node("a", 1)), "");
    EXPECT_EQ(refusal(node("a", 1)), "node a: given twice");
}

TEST_F(BooksTest, RefuseGeometriesThatCannotBe) {
    const auto with = [&](MigProfile profile) {
        const auto done =
            node_table_.add_geometry({.model = "X", .profiles = {std::move(profile)}});
        return done ? "" : done.error().message;
    };
    EXPECT_EQ(with({.name = "p", .width = 0, .starts = 1, .milli = 100}),
              "MIG profile p of X: expected 1 to 8 slices, a start and 1 to 1000 milli");
    EXPECT_EQ(with({.name = "p", .width = 4, .starts = 0x21, .milli = 100}),
              "MIG profile p of X: start 5 goes past slice 7");
    EXPECT_TRUE(node_table_.add_geometry(seven_slices("A100")).ok());
    EXPECT_EQ(node_table_.add_geometry(seven_slices("A100")).error().message,
              "MIG geometry of A100: given twice");
}

TEST_F(BooksTest, AWholeGpuNeedsUntouchedMemory) {
    const NodeId id = add(node("a", 1));
    const Shape whole = shape({.gpus = 1, .milli = 1000});
    const Shape memory = shape({.gpus = 1, .mib = 1});
    EXPECT_TRUE(NodeTable::fits(node_table_.node(id), whole));
    node_table_.take(id, memory, at(0));
    EXPECT_FALSE(NodeTable::fits(node_table_.node(id), whole));
    EXPECT_EQ(node_table_.free_milli(), 1'000);  // compute is all there
    node_table_.give(id, memory, at(0));
    EXPECT_TRUE(NodeTable::fits(node_table_.node(id), whole));
}

TEST_F(BooksTest, SharesNeedComputeAndMemoryOnTheSameGpu) {
    const NodeId id = add(node("a", 2));
    node_table_.take(id, shape({.gpus = 1, .milli = 900, .mib = 1'000}), at(0));
    node_table_.take(id, shape({.gpus = 1, .milli = 100, .mib = 16'000}), at(1));
    EXPECT_FALSE(
        NodeTable::fits(node_table_.node(id), shape({.gpus = 1, .milli = 500, .mib = 8'000})));
    EXPECT_TRUE(NodeTable::fits(node_table_.node(id), shape({.gpus = 1, .milli = 500})));
    EXPECT_TRUE(NodeTable::fits(node_table_.node(id), shape({.gpus = 1, .mib = 8'000})));
    EXPECT_TRUE(NodeTable::device_fits(node_table_.node(id), 1, shape({.gpus = 1, .milli = 900})));
    EXPECT_FALSE(NodeTable::device_fits(node_table_.node(id), 1, shape({.gpus = 1, .milli = 901})));
}

TEST_F(BooksTest, UnknownGpuMemoryTakesNoRequestByMemory) {
    const NodeId id = add(node("a", 1, 0));
    EXPECT_FALSE(NodeTable::fits(node_table_.node(id), shape({.gpus = 1, .mib = 1})));
    EXPECT_TRUE(NodeTable::fits(node_table_.node(id), shape({.gpus = 1, .milli = 1000})));
    EXPECT_TRUE(NodeTable::fits(node_table_.node(id), shape({.gpus = 1, .milli = 999})));
}

TEST_F(BooksTest, CpuMemoryAndModelDecideToo) {
    const NodeId id = add(node("a", 1));
    const NodeId bare = add(node("b", 0));
    EXPECT_FALSE(NodeTable::fits(node_table_.node(id), shape({.cpu_milli = 8'001})));
    EXPECT_FALSE(NodeTable::fits(node_table_.node(id), shape({.memory_mib = 32'769})));
    EXPECT_TRUE(NodeTable::fits(node_table_.node(bare), shape({.cpu_milli = 8'000})));
    EXPECT_FALSE(NodeTable::fits(node_table_.node(bare), shape({.gpus = 1, .milli = 1})));
    EXPECT_FALSE(
        NodeTable::fits(node_table_.node(id), shape({.gpus = 1, .milli = 1, .models = {"T4"}})));
    EXPECT_TRUE(NodeTable::fits(node_table_.node(id),
                                shape({.gpus = 1, .milli = 1, .models = {"A100", "T4"}})));
}

class MigBooks : public BooksTest {
protected:
    void SetUp() override {
        ASSERT_TRUE(node_table_.add_geometry(seven_slices("A100")).ok());
        NodeSpec spec = node("a", 2);
        spec.mig_devices = 1;
        id_ = add(spec);
    }
    Shape mig(const std::string& profile) { return shape({.gpus = 1, .mig_profile = profile}); }
    std::uint8_t place(const std::string& profile) {
        const Shape wanted = mig(profile);
        const std::uint8_t start = node_table_.mig_start(node_table_.node(id_), 0, wanted);
        node_table_.take(id_, wanted, at(0, start));
        return start;
    }
    bool fits(const std::string& profile) {
        return NodeTable::fits(node_table_.node(id_), mig(profile));
    }
    NodeId id_ = 0;
};

TEST_F(MigBooks, OnlyMigDevicesTakeInstancesAndNothingElse) {
    const Node& node = node_table_.node(id_);
    EXPECT_TRUE(NodeTable::device_fits(node, 0, mig("1g.10gb")));
    EXPECT_FALSE(NodeTable::device_fits(node, 1, mig("1g.10gb")));
    EXPECT_FALSE(NodeTable::device_fits(node, 0, shape({.gpus = 1, .milli = 100})));
    EXPECT_FALSE(NodeTable::device_fits(node, 0, shape({.gpus = 1, .milli = 1000})));
    EXPECT_FALSE(fits("5g.50gb"));
}

TEST_F(MigBooks, SmallInstancesLeaveRoomForALargeOne) {
    for (int i = 0; i < 3; ++i) (void)place("1g.10gb");
    EXPECT_TRUE(fits("3g.40gb"));
    EXPECT_TRUE(fits("4g.40gb"));
}

TEST_F(MigBooks, TwoThreesFitBesideEachOther) {
    EXPECT_NE(place("3g.40gb"), place("3g.40gb"));
    EXPECT_FALSE(fits("1g.10gb"));
}

TEST_F(MigBooks, AThreeKeepsTheOtherHalfForAFour) {
    EXPECT_EQ(place("3g.40gb"), 4);  // 4g starts at slice 0 only
    EXPECT_TRUE(fits("4g.40gb"));
}

TEST_F(MigBooks, GivingBackRestoresTheMask) {
    const Node before = node_table_.node(id_);
    const Shape two = mig("2g.20gb");
    node_table_.take(id_, two, at(0, 2));
    EXPECT_EQ(node_table_.node(id_).milli[0], 0x0C);
    EXPECT_FALSE(NodeTable::fits_at(node_table_.node(id_), two, at(0, 2)));
    EXPECT_FALSE(
        NodeTable::fits_at(node_table_.node(id_), two, at(0, 1)));  // no start of the profile
    EXPECT_FALSE(NodeTable::fits_at(node_table_.node(id_), two, at(1, 0)));  // not in MIG mode
    EXPECT_FALSE(NodeTable::fits_at(node_table_.node(id_), two, at(7, 0)));  // no such device
    EXPECT_TRUE(NodeTable::fits_at(node_table_.node(id_), two, at(0, 4)));
    node_table_.give(id_, two, at(0, 2));
    EXPECT_EQ(node_table_.node(id_).milli, before.milli);
    EXPECT_EQ(node_table_.node(id_).device_sum, before.device_sum);
    EXPECT_EQ(node_table_.free_milli(), node_table_.capacity_milli());
}

TEST_F(MigBooks, RoomIsCountedBySlicesAndStarts) {
    const MigGeometry geometry = seven_slices("A100");
    EXPECT_EQ(mig_room(geometry.profiles[0], 0), 7U);
    EXPECT_EQ(mig_room(geometry.profiles[2], 0), 3U);
    EXPECT_EQ(mig_room(geometry.profiles[3], 0), 2U);
    EXPECT_EQ(mig_room(geometry.profiles[3], 0x10), 1U);
    EXPECT_EQ(mig_room(geometry.profiles[5], 0x80), 0U);
}

TEST(NodeTable, WhatTwoStatesHaveInCommonFitsAsItSays) {
    NodeTable nodes;
    ASSERT_TRUE(
        nodes
            .add_node(
                {.name = "n", .cpu_milli = 8'000, .memory_mib = 1'024, .devices = 2, .model = "A2"})
            .ok());
    const Shape whole{.gpus = 1, .milli = kWholeGpu, .models = ~std::uint64_t{0}};
    const Shape half{.gpus = 1, .milli = 500, .models = ~std::uint64_t{0}};
    Node one = nodes.node(0);
    nodes.take(0, whole, {.count = 1, .device = {0}});
    Node other = nodes.node(0);
    nodes.give(0, whole, {.count = 1, .device = {0}});
    nodes.take(0, half, {.count = 1, .device = {1}});
    NodeTable::keep_common(
        other, nodes.node(0));  // device 0 is taken in one state, half of 1 in the other
    EXPECT_FALSE(NodeTable::fits(other, whole));
    EXPECT_TRUE(NodeTable::fits(other, half));
    NodeTable::keep_common(one, other);
    EXPECT_FALSE(NodeTable::fits(one, whole));
    NodeTable::keep_common(one, Node{.devices = 2});
    EXPECT_FALSE(NodeTable::fits(one, half));
}

}  // namespace
}  // namespace aliquot::placement
