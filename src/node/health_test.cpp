// SPDX-License-Identifier: Apache-2.0
#include "node/health.h"

#include <gmock/gmock.h>

namespace aliquot::node {
namespace {

using State = gpu::Health::State;
using testing::ElementsAre;
using testing::HasSubstr;

gpu::Inventory two() {
    gpu::Inventory inventory;
    inventory.gpus.resize(2);
    inventory.gpus[0].uuid = {"GPU-0"};
    inventory.gpus[1].index = 1;
    inventory.gpus[1].uuid = {"GPU-1"};
    return inventory;
}

const gpu::Health kLost{.state = State::kUnhealthy,
                        .reason = "Xid 79: GPU has fallen off the bus",
                        .advice = "restart the machine"};
const gpu::Health kWorn{.state = State::kDegraded,
                        .reason = "row remapping is pending",
                        .advice = "reset the GPU when it is idle"};

TEST(HealthCondition, SaysWhichGpuAndWhatToDo) {
    gpu::Inventory inventory = two();
    auto condition = health_condition(inventory, "");
    EXPECT_TRUE(condition.good);
    EXPECT_EQ(condition.message, "2 GPUs, all healthy");
    inventory.gpus[1].health = kLost;
    condition = health_condition(inventory, "");
    EXPECT_FALSE(condition.good);
    EXPECT_EQ(condition.reason, "GpuUnhealthy");
    EXPECT_EQ(condition.message,
              "GPU 1 (GPU-1): Xid 79: GPU has fallen off the bus; restart the machine. 1 of 2 GPUs "
              "can be used");
    inventory.gpus[1].health = kWorn;
    condition = health_condition(inventory, "");
    EXPECT_TRUE(condition.good);
    EXPECT_EQ(condition.reason, "GpuDegraded");
    condition = health_condition(inventory, "Driver/library version mismatch");
    EXPECT_FALSE(condition.good);
    EXPECT_EQ(condition.reason, "DriverProblem");
}

TEST(HealthTaint, ComesByPolicy) {
    gpu::Inventory inventory = two();
    EXPECT_TRUE(health_taints(TaintPolicy::kAny, inventory, "").empty());
    inventory.gpus[0].health = kLost;
    EXPECT_TRUE(health_taints(TaintPolicy::kAll, inventory, "").empty());
    EXPECT_EQ(health_taints(TaintPolicy::kAny, inventory, "").size(), 1U);
    inventory.gpus[1].health = kLost;
    EXPECT_EQ(health_taints(TaintPolicy::kAll, inventory, "").size(), 1U);
    EXPECT_TRUE(health_taints(TaintPolicy::kOff, inventory, "").empty());
    EXPECT_EQ(health_taints(TaintPolicy::kAll, two(), "no answer").size(), 1U);
    EXPECT_TRUE(health_taints(TaintPolicy::kAll, {}, "no driver").empty());  // a node without GPUs
    EXPECT_FALSE(parse_taint_policy("some"));
    EXPECT_EQ(*parse_taint_policy("any"), TaintPolicy::kAny);
}

TEST(HealthNotes, TellEachChangeOnce) {
    const gpu::Inventory well = two();
    gpu::Inventory ill = two();
    ill.gpus[1].health = kLost;
    const auto notes = health_notes(well, ill);
    ASSERT_EQ(notes.size(), 1U);
    EXPECT_EQ(notes[0].reason, "GpuXid79");
    EXPECT_TRUE(notes[0].warning);
    EXPECT_THAT(notes[0].text, HasSubstr("restart the machine"));
    EXPECT_TRUE(health_notes(ill, ill).empty());
    EXPECT_THAT(health_notes(ill, well),
                ElementsAre(testing::Field(&Note::reason, "GpuRecovered")));
    EXPECT_EQ(health_notes({}, ill).size(), 1U);
    EXPECT_TRUE(health_notes({}, well).empty());
    gpu::Inventory worn = two();
    worn.gpus[1].health = kWorn;
    EXPECT_THAT(health_notes(well, worn),
                ElementsAre(testing::Field(&Note::reason, "GpuDegraded")));
}

TEST(HealthNotes, NameMigDevices) {
    gpu::Inventory before = two();
    before.gpus[0].mig_devices.resize(1);
    before.gpus[0].mig_devices[0].uuid = {"MIG-a"};
    before.gpus[0].mig_devices[0].profile = "1g.5gb";
    gpu::Inventory now = before;
    now.gpus[0].mig_devices[0].health = {.state = State::kUnhealthy, .reason = "Xid 94: contained"};
    const auto notes = health_notes(before, now);
    ASSERT_EQ(notes.size(), 1U);
    EXPECT_EQ(notes[0].reason, "MigDeviceXid94");
    EXPECT_THAT(notes[0].text, HasSubstr("1g.5gb (MIG-a) of GPU 0"));
    EXPECT_FALSE(health_condition(now, "").good);
}

TEST(ConfigCondition, SaysWhatIsServed) {
    EXPECT_THAT(config_condition({}, "ConfigMap a/b").message, HasSubstr("whole GPUs"));
    const auto bad = config_condition({.key = "x", .served = false, .problem = "x:1:2: no"}, "p");
    EXPECT_FALSE(bad.good);
    EXPECT_EQ(bad.message, "x:1:2: no; the last good configuration is served");
}

// Pods were refused with an exact reason, and the node said that all is well.
TEST(ConfigCondition, IsFalseWhileSharesWithLimitsCannotBeMade) {
    const auto full = config_condition({.key = "x"}, "p", "/run/x: No space left on device");
    EXPECT_FALSE(full.good);
    EXPECT_EQ(full.reason, "LimitsNotKept");
    EXPECT_THAT(full.message, HasSubstr("No space left on device"));
    EXPECT_EQ(config_condition({.key = "x", .served = false, .problem = "no"}, "p", "full").reason,
              "ConfigRefused");
}

TEST(ConfigCondition, NamesWhatWaitsForWhom) {
    ConfigStatus told{.source = ConfigChoice::Source::kLabel, .key = "x"};
    for (unsigned i = 0; i < 10; ++i) {
        told.waiting.push_back({.uuid = {"GPU-" + std::to_string(i)},
                                .gpu_index = i,
                                .index = std::to_string(i),
                                .served = "nvidia.com/gpu, 1 whole GPU",
                                .pods = {"ai/a", "ai/b"},
                                .why = {}});
    }
    const auto waits = config_condition(told, "p");
    EXPECT_FALSE(waits.good);
    EXPECT_EQ(waits.reason, "ConfigPending");
    EXPECT_THAT(waits.message,
                HasSubstr("GPU 0 stays nvidia.com/gpu, 1 whole GPU, until ai/a, ai/b end"));
    EXPECT_THAT(waits.message, HasSubstr("and so 2 more devices"));
    EXPECT_EQ(state_text(told), "pending");
    EXPECT_EQ(parse_config_status(to_json(told)), told);
}

TEST(ConfigCondition, IsFalseWhileAFileSystemIsFull) {
    const ConfigStatus told{.key = "x", .shortage = "/run/aliquot has 0 left"};
    const auto full = config_condition(told, "p");
    EXPECT_FALSE(full.good);
    EXPECT_EQ(full.reason, "LimitsNotKept");
    EXPECT_THAT(full.message, HasSubstr("/run/aliquot has 0 left"));
    EXPECT_EQ(parse_config_status(to_json(told)), told);
}

TEST(ConfigCondition, IsFalseWhileTheDraLabelIsNotObeyed) {
    const ConfigStatus told{.key = "x", .claims_problem = "label aliquot.dev/dra=atuo: expected"};
    const auto refused = config_condition(told, "p");
    EXPECT_FALSE(refused.good);
    EXPECT_EQ(refused.reason, "DraLabelRefused");
    EXPECT_EQ(refused.message, told.claims_problem);
    EXPECT_EQ(parse_config_status(to_json(told)), told);
}

TEST(ConfigCondition, IsFalseWhileNothingIsPublishedForClaims) {
    const ConfigStatus told{.key = "x", .claims_refused = "the API server dropped counters"};
    const auto refused = config_condition(told, "p");
    EXPECT_FALSE(refused.good);
    EXPECT_EQ(refused.reason, "DraModeRefused");
    EXPECT_EQ(refused.message, told.claims_refused);
    EXPECT_EQ(parse_config_status(to_json(told)), told);
}

TEST(MigCondition, SaysWhatItWaitsFor) {
    const auto waits = mig_condition({.state = MigStatus::State::kPending,
                                      .config = "all-1g.5gb",
                                      .problem = "GPU 0 is held by default/a"});
    EXPECT_FALSE(waits.good);
    EXPECT_EQ(waits.reason, "MigConfigPending");
    EXPECT_TRUE(mig_condition({.state = MigStatus::State::kSuccess, .config = "x"}).good);
    EXPECT_EQ(to_text(MigStatus::State::kFailed), "failed");
}

}  // namespace
}  // namespace aliquot::node
