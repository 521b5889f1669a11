// SPDX-License-Identifier: Apache-2.0
#include "scheduling/moved_pods.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/time_text.h"
#include "scheduling/books.h"

namespace aliquot::scheduling {
namespace {

using namespace std::chrono_literals;

constexpr char kMps[] = "nvidia.com/gpu.mps";

const Target kThere{.node = "b", .units = {{kMps, {{"GPU-b", 2}}}}};

GpuPod pod(const std::string& uid, unsigned count) {
    return {.uid = uid,
            .name_space = "team",
            .name = uid,
            .owner = "web",
            .devices = {{"main", kMps, count}}};
}

TEST(MovedPods, TellTheNextOfTheSameOwnerAndShapeWhereToGoOnce) {
    const auto now = *parse_rfc3339("2026-01-01T12:00:00Z");
    MovedPods moved;
    GpuPod leaves = pod("old", 2);
    leaves.node = "a";
    leaves.move = to_json(MoveNote{now + 5min, kThere});
    moved.set(leaves, now);
    GpuPod next = pod("new", 2);
    EXPECT_EQ(moved.target_of(next, now), kThere);
    EXPECT_FALSE(moved.target_of(pod("larger", 3), now));
    EXPECT_FALSE(moved.target_of(next, now + 6min)) << "its time is over";
    GpuPod other = next;
    other.owner = "db";
    EXPECT_FALSE(moved.target_of(other, now));
    next.preferred = kThere;
    EXPECT_EQ(moved.fulfil(next), "team/old on a");
    EXPECT_EQ(moved.fulfil(next), "") << "once";
    EXPECT_FALSE(moved.target_of(pod("third", 2), now));
    moved.set(leaves, now);  // it is still leaving
    EXPECT_FALSE(moved.target_of(pod("third", 2), now));
    leaves.move = to_json(MoveNote{now + 6min, kThere});
    moved.set(leaves, now);
    EXPECT_TRUE(moved.target_of(pod("third", 2), now)) << "another note";
    leaves.move.clear();  // its eviction was refused
    moved.set(leaves, now);
    EXPECT_FALSE(moved.target_of(pod("third", 2), now));
}

TEST(MovedPods, ReadNotesOfAnybody) {
    const auto now = *parse_rfc3339("2026-01-01T12:00:00Z");
    const MoveNote note{now + 5min, kThere};
    EXPECT_EQ(parse_move_note(to_json(note)), note);
    for (const char* const text :
         {"", "{}", "[]", R"({"v":2,"until":"2026-01-01T12:00:00Z","node":"b","units":{}})",
          R"({"v":1,"until":"soon","node":"b","units":{}})",
          R"({"v":1,"until":"2026-01-01T12:00:00Z","node":"","units":{}})",
          R"({"v":1,"until":"2026-01-01T12:00:00Z","node":"b","units":[1]})",
          R"({"v":1,"until":"2026-01-01T12:00:00Z","node":"b","units":{"r":7}})"})
        EXPECT_FALSE(parse_move_note(text)) << text;
    MovedPods moved;
    GpuPod leaves = pod("old", 2);
    leaves.node = "a";
    leaves.move = to_json(MoveNote{now + 25h, kThere});
    moved.set(leaves, now);
    EXPECT_FALSE(moved.target_of(pod("new", 2), now)) << "nobody plans for so long";
}

TEST(Books, GiveAPodWhatItWishesForIfItIsFree) {
    Books books;
    for (const char* const name : {"a", "b", "c"}) {
        ServedNode node{.name = name, .is_open = true, .cpu_milli = 8000, .memory_mib = 8192};
        node.gpus = {{std::string("GPU-") + name, {{kMps, 8}}}};
        node.on_one_gpu = {kMps};
        books.set_node(node);
    }
    GpuPod asks = pod("p", 2);
    asks.is_gated = true;
    asks.preferred = kThere;
    Decision decision = books.what_if(asks);
    EXPECT_THAT(decision.targets, testing::ElementsAre(kThere)) << "just there";
    for (const auto& units :
         {DeviceUnits{{kMps, {{"GPU-b", 1}}}}, DeviceUnits{{kMps, {{"GPU-b", 9}}}},
          DeviceUnits{{kMps, {{"GPU-z", 2}}}}, DeviceUnits{}}) {
        asks.preferred = Target{"b", units};
        EXPECT_EQ(books.what_if(asks).targets.size(), 3U) << "as without one";
    }
    asks.preferred = kThere;
    ASSERT_EQ(books.decide(asks).targets.size(), 1U);
    GpuPod big = pod("big", 8);
    big.is_gated = true;
    EXPECT_EQ(books.what_if(big).targets.size(), 2U) << "it is booked";
    EXPECT_EQ(books.self_check(), "");
}

}  // namespace
}  // namespace aliquot::scheduling
