// SPDX-License-Identifier: Apache-2.0
#include "placement/migration.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

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

/// Nodes of one GPU each that run these shares.
class MakeRoomTest : public testing::Test {
protected:
    void fill(const std::vector<std::vector<std::int32_t>>& shares, bool movable = true) {
        for (NodeId id = 0; id < shares.size(); ++id) {
            ASSERT_TRUE(engine_.add_node(node("n" + std::to_string(id), 1)).ok());
            for (const std::int32_t milli : shares[id])
                ASSERT_TRUE(
                    engine_.restore(share(milli, movable), {.node = id, .devices = {0}}).ok());
        }
    }
    std::vector<std::int32_t> free() {
        std::vector<std::int32_t> all;
        for (NodeId id = 0; id < engine_.node_count(); ++id)
            all.push_back(engine_.state(id).devices[0].milli);
        return all;
    }
    Engine engine_;
};

TEST_F(MakeRoomTest, TwoTasksChangePlacesForAThird) {
    fill({{320, 470}, {320, 470}});
    Migration migration(engine_, {.most_moves = 2});
    const std::vector<Waiting> waiting{{.request = share(320, true), .count = 5}};
    const auto room = migration.make_room(waiting);
    ASSERT_TRUE(room.ok()) << room.error().message;
    EXPECT_EQ(room->moves, 2U);
    ASSERT_EQ(room->placed.size(), 1U);
    EXPECT_EQ(engine_.request_of(room->placed[0].placement.id), share(320, true));
    auto left = free();
    std::sort(left.begin(), left.end());
    EXPECT_EQ(left, (std::vector<std::int32_t>{40, 60}));
    EXPECT_EQ(migration.moved(), 2U);
    EXPECT_EQ(migration.gained_milli(), 320);
    EXPECT_EQ(engine_.self_check(), "");
}

TEST_F(MakeRoomTest, ATaskLeavesAHoleThatTwoFill) {
    fill({{160, 650}, {810}});
    Migration migration(engine_, {.most_moves = 5});
    const std::vector<Waiting> waiting{{.request = share(230, false)},
                                       {.request = share(120, false)},
                                       {.request = share(350, false), .count = 0}};
    const auto room = migration.make_room(waiting);
    ASSERT_TRUE(room.ok());
    EXPECT_EQ(room->moves, 1U);
    EXPECT_EQ(free(), (std::vector<std::int32_t>{0, 30}));
    EXPECT_EQ(room->placed.size(), 2U);
}

TEST_F(MakeRoomTest, PlacesWhatFitsWithoutAMove) {
    fill({{320}, {320, 470}});
    Migration migration(engine_, {.most_moves = 0});
    const std::vector<Waiting> waiting{{.request = share(320, false), .count = 3},
                                       {.request = whole(1), .count = 1}};
    const auto room = migration.make_room(waiting);
    ASSERT_TRUE(room.ok());
    EXPECT_EQ(room->placed.size(), 2U);
    EXPECT_EQ(room->moves, 0U);
    EXPECT_EQ(migration.gained_milli(), 0);
}

TEST_F(MakeRoomTest, LooksAtCpuModelAndWhoMayMove) {
    fill({{320, 470}, {320, 470}}, false);
    Migration migration(engine_, {.most_moves = 2});
    const std::vector<Waiting> one{{.request = share(320, true)}};
    EXPECT_EQ(migration.make_room(one)->placed.size(), 0U);

    Engine engine;
    for (NodeId id = 0; id < 2; ++id) {
        NodeSpec spec = node("n" + std::to_string(id), 1);
        spec.cpu_milli = 2'500;
        ASSERT_TRUE(engine.add_node(spec).ok());
        for (const std::int32_t milli : {320, 470})
            ASSERT_TRUE(engine.restore(share(milli, true), {.node = id, .devices = {0}}).ok());
    }
    Migration tight(engine, {.most_moves = 2});
    EXPECT_EQ(tight.make_room(one)->placed.size(), 0U);
    Request light = share(320, false);
    light.cpu_milli = 500;
    light.models = {"H900"};
    EXPECT_EQ(tight.make_room(std::vector<Waiting>{{.request = light}})->placed.size(), 0U);
    light.models = {"A2", "H900"};
    EXPECT_EQ(tight.make_room(std::vector<Waiting>{{.request = light}})->placed.size(), 1U);
    EXPECT_EQ(engine.self_check(), "");
}

TEST_F(MakeRoomTest, AWrongRequestIsAnErrorAndNoMoveIsMade) {
    fill({{320, 470}, {320, 470}});
    Migration migration(engine_, {.most_moves = 2});
    EXPECT_EQ(migration.make_room(std::vector<Waiting>{{.request = {.gpus = 3, .milli = 10}}})
                  .error()
                  .code,
              ErrorCode::kInvalidInput);
    EXPECT_EQ(migration.moved(), 0U);
}

TEST(MigrationProperty, MakesRoomWithinItsBudgetAndAlikeEachTime) {
    std::uint32_t moves = 0;
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
        SCOPED_TRACE(seed);
        const auto run = [&] {
            Dice dice(seed);
            Engine engine;
            EXPECT_TRUE(engine.add_geometry(seven_slices("A100")).ok());
            for (unsigned i = 0; i < 25; ++i)
                EXPECT_TRUE(engine.add_node(random_node(dice, i)).ok());
            engine.set_workload(random_workload(dice));
            const std::uint32_t budget = dice.below(20);
            Migration migration(engine, {.most_moves = budget, .least_share = 1});
            std::map<PlacementId, NodeId> first;  // where each task was when it came
            std::string story;
            for (unsigned round = 0; round < 3; ++round) {
                std::vector<Waiting> waiting;
                for (unsigned i = 0; i < 250; ++i) {
                    const Request request = random_request(dice);
                    const auto placed = engine.place(request);
                    if (placed)
                        first[placed->id] = placed->node;
                    else if (placed.error().code == ErrorCode::kUnavailable)
                        waiting.push_back({.request = request, .count = 1 + dice.below(3)});
                }
                const std::int64_t before = engine.free_milli();
                const auto room = migration.make_room(waiting);
                EXPECT_TRUE(room.ok());
                if (!room) return story;
                EXPECT_EQ(engine.self_check(), "");
                EXPECT_LE(migration.moved(), budget);
                EXPECT_LE(engine.free_milli(), before);
                std::vector<std::uint32_t> counts(waiting.size(), 0);
                for (const Room::Placed& placed : room->placed) {
                    EXPECT_LE(++counts[placed.waiting], waiting[placed.waiting].count);
                    EXPECT_EQ(engine.placement_of(placed.placement.id)->node,
                              placed.placement.node);
                    first[placed.placement.id] = placed.placement.node;
                    story += std::to_string(placed.waiting) + "@" +
                             std::to_string(placed.placement.node) + " ";
                }
                moves += room->moves;
                story += std::to_string(room->steps) + "\n";
            }
            std::uint32_t away = 0;
            for (const auto& [id, node] : first) {
                const bool moved = engine.placement_of(id)->node != node;
                EXPECT_TRUE(!moved || engine.request_of(id)->movable);
                away += moved ? 1 : 0;
            }
            EXPECT_LE(away, migration.moved());
            return story;
        };
        EXPECT_EQ(run(), run());
    }
    EXPECT_GT(moves, 10U);
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
