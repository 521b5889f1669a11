// SPDX-License-Identifier: Apache-2.0
#include "placement/migration.h"

#include <gtest/gtest.h>

#include "placement/random_cluster.h"

namespace aliquot::placement {
namespace {

using Devices = std::vector<std::uint8_t>;

NodeSpec node(const std::string& name, std::uint8_t gpus) {
    return {.name = name,
            .cpu_milli = 64'000,
            .memory_mib = 262'144,
            .devices = gpus,
            .model = "A2",
            .device_mib = 16'384};
}

Request share(std::int32_t milli, bool movable) {
    return {.cpu_milli = 1'000, .gpus = 1, .milli = milli, .movable = movable};
}
Request whole(std::uint8_t gpus) { return {.cpu_milli = 1'000, .gpus = gpus, .milli = kWholeGpu}; }

/// Two nodes of two GPUs; one share on a GPU of each, so that nowhere two GPUs are free.
class MigrationTest : public testing::Test {
protected:
    void fill(bool movable) {
        for (const char* name : {"a", "b"}) ASSERT_TRUE(engine_.add_node(node(name, 2)).ok());
        engine_.set_workload({{whole(2), 0.5}, {share(400, false), 0.5}});
        for (NodeId id = 0; id < 2; ++id)
            ids_.push_back(*engine_.restore(share(400, movable), {.node = id, .devices = {0}}));
    }
    std::string photo() {
        std::string all;
        for (NodeId id = 0; id < engine_.node_count(); ++id) {
            for (const DeviceState& device : engine_.state(id).devices)
                all += " " + std::to_string(device.milli) + "/" + std::to_string(device.mib);
            for (const PlacementId task : engine_.placements_on(id))
                all += " #" + std::to_string(task);
        }
        return all;
    }
    Engine engine_;
    std::vector<PlacementId> ids_;
};

TEST_F(MigrationTest, OneMoveMakesRoom) {
    fill(true);
    ASSERT_FALSE(engine_.place(whole(2)).ok());
    Migration migration(engine_, {.most_moves = 1});
    const auto placed = migration.place(whole(2));
    ASSERT_TRUE(placed.ok()) << placed.error().message;
    EXPECT_EQ(placed->devices, (Devices{0, 1}));
    EXPECT_EQ(migration.moved(), 1U);
    EXPECT_EQ(migration.gained_milli(), 2'000);
    EXPECT_EQ(engine_.placements_on(1 - placed->node), ids_);  // both shares are together now
    EXPECT_EQ(engine_.self_check(), "");
}

TEST_F(MigrationTest, LeavesTasksAloneThatMayNotMove) {
    fill(false);
    const std::string before = photo();
    Migration migration(engine_, {.most_moves = 5});
    EXPECT_EQ(migration.place(whole(2)).error().code, ErrorCode::kUnavailable);
    EXPECT_TRUE(migration.plan(5).empty());
    EXPECT_EQ(photo(), before);
    EXPECT_EQ(migration.moved(), 0U);
}

TEST_F(MigrationTest, StaysWithinItsLimits) {
    fill(true);
    Migration none(engine_, {.most_moves = 0});
    EXPECT_FALSE(none.place(whole(2)).ok());
    EXPECT_TRUE(none.plan(0).empty());
    Migration dear(engine_, {.most_moves = 5, .least_gain = 5'000});
    EXPECT_FALSE(dear.place(whole(2)).ok());
    EXPECT_TRUE(dear.plan(5).empty());
}

TEST_F(MigrationTest, APlanLeavesTheEngineAsItWas) {
    fill(true);
    const std::string before = photo();
    Migration migration(engine_, {.most_moves = 3});
    const auto moves = migration.plan(3);
    ASSERT_EQ(moves.size(), 1U);
    EXPECT_GE(moves[0].gained_milli, 150);
    EXPECT_EQ(photo(), before);
    EXPECT_EQ(engine_.self_check(), "");
    const double fragmented = engine_.fragmented_milli();
    ASSERT_TRUE(migration.apply(moves).ok());
    EXPECT_DOUBLE_EQ(fragmented - engine_.fragmented_milli(), moves[0].gained_milli);
    EXPECT_EQ(migration.moved(), 1U);
    EXPECT_TRUE(engine_.place(whole(2)).ok());
}

TEST_F(MigrationTest, AppliesAllMovesOrNone) {
    fill(true);
    Migration migration(engine_, {.most_moves = 5});
    auto moves = migration.plan(1);
    ASSERT_EQ(moves.size(), 1U);
    const std::string before = photo();
    Move impossible = moves[0];
    impossible.id = impossible.id == ids_[0] ? ids_[1] : ids_[0];
    impossible.to.devices = {7};
    moves.push_back(impossible);
    EXPECT_EQ(migration.apply(moves).error().code, ErrorCode::kConflict);
    EXPECT_EQ(photo(), before);
    EXPECT_EQ(migration.moved(), 0U);
}

TEST_F(MigrationTest, RefusesAPlanThatMovesATaskTwice) {
    fill(true);
    Migration migration(engine_, {.most_moves = 5});
    const auto moves = migration.plan(1);
    ASSERT_EQ(moves.size(), 1U);
    Move back = moves[0];
    back.to.node = moves[0].from;
    const std::string before = photo();
    EXPECT_FALSE(migration.apply({moves[0], back}).ok());
    EXPECT_EQ(photo(), before);
}

TEST_F(MigrationTest, MovesEachTaskAtMostOnce) {
    fill(true);
    Migration migration(engine_, {.most_moves = 5});
    const auto placed = migration.place(whole(2));
    ASSERT_TRUE(placed.ok());
    const NodeId other = 1 - placed->node;
    ASSERT_TRUE(engine_.release(placed->id).ok());
    ASSERT_TRUE(migration.plan(5).empty());
    // The task that stayed may still go, the one that moved may not.
    for (const PlacementId id : ids_) {
        const Placement to{.node = placed->node, .devices = {0}};
        const bool moved_before =
            engine_.placement_of(id)->node == other && id == ids_[placed->node];
        EXPECT_EQ(migration.apply({{.id = id, .from = other, .to = to}}).ok(), !moved_before);
    }
}

TEST(MigrationProperty, NeverMovesATaskTwiceAndNeverBreaksTheBooks) {
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
        Dice dice(seed);
        Engine engine;
        ASSERT_TRUE(engine.add_geometry(seven_slices("A100")).ok());
        for (unsigned i = 0; i < 10; ++i) ASSERT_TRUE(engine.add_node(random_node(dice, i)).ok());
        engine.set_workload(random_workload(dice));
        Migration migration(engine, {.most_moves = 12, .least_gain = 100});
        for (unsigned i = 0; i < 250; ++i) (void)migration.place(random_request(dice));
        EXPECT_LE(migration.moved(), 12U);
        EXPECT_EQ(engine.self_check(), "");
        const auto moves = migration.plan(4);
        EXPECT_TRUE(moves.size() + migration.moved() > 12 || migration.apply(moves).ok());
        EXPECT_EQ(engine.self_check(), "");
    }
}

}  // namespace
}  // namespace aliquot::placement
