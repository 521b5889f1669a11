// SPDX-License-Identifier: Apache-2.0
#include "node_groups/fleet.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace aliquot::node_groups {
namespace {

std::vector<Group> lab(unsigned machines, unsigned min = 0) {
    Group group;
    group.pool.name = "lab";
    group.pool.min = min;
    group.pool.max = machines;
    for (unsigned i = 0; i < machines; ++i)
        group.machines.push_back({.name = "gpu-" + std::to_string(i)});
    return {group};
}
std::string id(unsigned machine) { return provider_id("lab", "gpu-" + std::to_string(machine)); }
void finish(Fleet& fleet, const std::string& problem = "") {
    for (const Task& task : fleet.take_tasks()) fleet.done(task, problem);
}

TEST(Fleet, GrowsAndShrinksAtOnceAndActsOnce) {
    Fleet fleet(lab(3));
    ASSERT_TRUE(fleet.increase("lab", 3));
    EXPECT_EQ(fleet.target("lab"), 3U);
    EXPECT_EQ(fleet.take_tasks().size(), 3U);
    EXPECT_TRUE(fleet.take_tasks().empty());
    for (unsigned i = 0; i < 3; ++i) fleet.done({"lab", "gpu-" + std::to_string(i), true}, "");
    EXPECT_EQ(fleet.instances("lab").at("gpu-1").state, MachineState::kOn);
    ASSERT_TRUE(fleet.remove("lab", {id(0), id(1)}));
    EXPECT_EQ(fleet.target("lab"), 1U);
    ASSERT_TRUE(fleet.remove("lab", {id(0)})) << "idempotent";
    finish(fleet);
    EXPECT_EQ(fleet.instances("lab").size(), 1U);
}

TEST(Fleet, StaysBetweenMinAndMax) {
    Fleet fleet(lab(2, 1));
    EXPECT_EQ(fleet.target("lab"), 1U) << "min is started at once";
    EXPECT_FALSE(fleet.increase("lab", 2));
    ASSERT_TRUE(fleet.increase("lab", 1));
    EXPECT_FALSE(fleet.remove("lab", {id(0), id(1)}));
    EXPECT_EQ(fleet.target("lab"), 2U);
    EXPECT_EQ(fleet.increase("other", 1).error().code, ErrorCode::kNotFound);
}

TEST(Fleet, RefusesNodesOfAnotherGroupAndRemovesNoneThen) {
    Fleet fleet(lab(2));
    ASSERT_TRUE(fleet.increase("lab", 2));
    EXPECT_FALSE(fleet.remove("lab", {id(0), "aws:///i-1"}));
    EXPECT_EQ(fleet.target("lab"), 2U);
}

TEST(Fleet, TellsOfAMachineThatDoesNotStartUntilItIsTakenBack) {
    Fleet fleet(lab(2));
    ASSERT_TRUE(fleet.increase("lab", 1));
    finish(fleet, "wakeonlan ended with 1");
    EXPECT_EQ(fleet.instances("lab").at("gpu-0"),
              (MachineStatus{.state = MachineState::kFailed, .problem = "wakeonlan ended with 1"}));
    ASSERT_TRUE(fleet.remove("lab", {id(0)}));
    EXPECT_EQ(fleet.target("lab"), 0U);
}

TEST(Fleet, DecreasesTheTargetButRemovesNoMachine) {
    Fleet fleet(lab(3));
    ASSERT_TRUE(fleet.increase("lab", 2));
    finish(fleet);
    EXPECT_FALSE(fleet.decrease("lab", -1));
    ASSERT_TRUE(fleet.increase("lab", 1));
    EXPECT_FALSE(fleet.decrease("lab", 1));
    EXPECT_FALSE(fleet.decrease("lab", std::numeric_limits<std::int64_t>::min()));
    ASSERT_TRUE(fleet.decrease("lab", -1));
    EXPECT_EQ(fleet.target("lab"), 2U);
}

TEST(Fleet, GoesOnAfterARestartAndRepeatsWhatWasUnderWay) {
    Fleet before(lab(3));
    ASSERT_TRUE(before.increase("lab", 2));
    EXPECT_EQ(before.take_tasks().size(), 2U);
    before.done({"lab", "gpu-0", true}, "");
    Fleet after(lab(3));
    ASSERT_TRUE(after.restore(before.to_json()));
    EXPECT_EQ(after.target("lab"), 2U);
    const auto tasks = after.take_tasks();
    ASSERT_EQ(tasks.size(), 1U);
    EXPECT_EQ(tasks[0].machine, "gpu-1");
    EXPECT_FALSE(after.restore("{}"));
}

/// Whatever is asked for in whatever order: the target stays in its limits, and at the end machines are as asked.
TEST(Fleet, EndsWhereItWasSentWhateverComesBetween) {
    std::mt19937 engine(5);
    const auto random = [&](unsigned below) { return static_cast<unsigned>(engine() % below); };
    for (int run = 0; run < 500; ++run) {
        Fleet fleet(lab(5));
        std::vector<Task> under_way;
        for (int step = 0; step < 60; ++step) {
            const unsigned before = fleet.target("lab");
            switch (random(4)) {
                case 0:
                    if (const unsigned more = 1 + random(3); fleet.increase("lab", more)) {
                        EXPECT_EQ(fleet.target("lab"), before + more);
                    }
                    break;
                case 1:
                    (void)fleet.remove("lab", {id(random(5))});
                    break;
                case 2:
                    for (auto& task : fleet.take_tasks()) under_way.push_back(task);
                    break;
                default:
                    if (under_way.empty()) break;
                    fleet.done(under_way.back(), random(5) == 0 ? "no" : "");
                    under_way.pop_back();
            }
            EXPECT_LE(fleet.target("lab"), 5U);
        }
        const unsigned wanted = fleet.target("lab");
        for (const Task& task : under_way) fleet.done(task, "");
        for (int i = 0; i < 4; ++i) finish(fleet);
        EXPECT_EQ(fleet.target("lab"), wanted);
        for (const auto& [name, status] : fleet.instances("lab")) {
            EXPECT_TRUE(status.state == MachineState::kOn || status.state == MachineState::kFailed);
        }
    }
}

}  // namespace
}  // namespace aliquot::node_groups
