// SPDX-License-Identifier: Apache-2.0
// Counters over an end of the agent: they go on, nothing is counted twice and nothing goes back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "telemetry/json.h"
#include "telemetry/test_world.h"

namespace aliquot::telemetry {
namespace {

constexpr unsigned kKills = 10;

/// As it is read back from where it was kept.
Device kept(const Device& told) {
    Snapshot snapshot{.node = "node"};
    snapshot.devices.push_back(told);
    const auto read = parse_state(to_json(snapshot));
    EXPECT_TRUE(read) << read.error().message;
    return read->devices.at(0);
}

std::uint64_t energy_of(const Device& device, const std::string& pod) {
    const Tenant* const tenant = TestWorld::find(device, pod);
    return tenant == nullptr ? 0 : tenant->amounts.energy_millijoules.value_or(0);
}

std::uint64_t busy_of(const Device& device, const std::string& pod) {
    const Tenant* const tenant = TestWorld::find(device, pod);
    return tenant == nullptr ? 0 : tenant->amounts.busy_ns.value_or(0);
}

void run_two(TestWorld& world) {
    world.offered["GPU-0"] = {.resource = "nvidia.com/gpu.shared",
                              .mechanism = grant::Mechanism::kTimeSlicing,
                              .replicas = 4};
    world.hold("a", {"GPU-0::0"}, "nvidia.com/gpu.shared");
    world.hold("b", {"GPU-0::1"}, "nvidia.com/gpu.shared");
    world.seconds(3);  // idle: what it draws then is nobody's
    world.processes[1] = {.pod = "a", .memory_mib = 100, .percent = 60};
    world.processes[2] = {.pod = "b", .memory_mib = 100, .percent = 20};
    world.power_milliwatts = 300'000;
}

TEST(Restart, CountersOfASharedGpuGoOnOverManyKills) {
    TestWorld world;
    run_two(world);
    Device before = world.seconds(20);
    for (unsigned kill = 0; kill < kKills; ++kill) {
        world.restart(kept(before), 1 + kill % 4);
        for (unsigned second = 0; second < 5; ++second) {
            const Device now = world.second();
            EXPECT_EQ(now.total.energy_millijoules, world.driver_energy());
            for (const std::string pod : {"a", "b"}) {
                EXPECT_GE(energy_of(now, pod), energy_of(before, pod)) << pod;
                EXPECT_GE(busy_of(now, pod), busy_of(before, pod)) << pod;
            }
            EXPECT_GE(now.total.busy_ns, before.total.busy_ns);
            EXPECT_GE(now.remainder.energy_millijoules, before.remainder.energy_millijoules);
            const std::uint64_t step =
                *now.total.energy_millijoules - *before.total.energy_millijoules;
            EXPECT_LE(*now.remainder.energy_millijoules - *before.remainder.energy_millijoules,
                      step)
                << "what pods have used is not counted again as nobody's";
            EXPECT_EQ(energy_of(now, "a") + energy_of(now, "b") + *now.remainder.energy_millijoules,
                      *now.total.energy_millijoules);
            before = now;
        }
    }
}

TEST(Restart, WhoHasAGpuWholeHasUsedAllOfItMeanwhile) {
    TestWorld world;
    world.hold("a", {"GPU-0"});
    world.processes[1] = {.pod = "a", .memory_mib = 100, .percent = 90};
    world.power_milliwatts = 300'000;
    Device device = world.seconds(2);
    const std::uint64_t begun = energy_of(device, "a");
    const std::uint64_t driver = world.driver_energy();
    for (unsigned kill = 0; kill < kKills; ++kill) {
        world.restart(kept(device), 7);
        device = world.seconds(3);
    }
    EXPECT_EQ(energy_of(device, "a") - begun, world.driver_energy() - driver);
}

TEST(Restart, ADriverThatWasReloadedMeanwhileCountsFromZero) {
    TestWorld world;
    run_two(world);
    const Device before = world.seconds(5);
    world.reload_driver();
    world.restart(kept(before), 2);
    const Device after = world.second();
    EXPECT_EQ(*after.total.energy_millijoules - *before.total.energy_millijoules,
              3 * world.power_milliwatts);
}

TEST(Restart, APodThatEndedMeanwhileKeepsWhatItHasUsed) {
    TestWorld world;
    run_two(world);
    const Device before = world.seconds(5);
    world.let_go("b");
    world.processes.erase(2);
    world.restart(kept(before), 2);
    const Device after = world.second();
    ASSERT_NE(TestWorld::find(after, "b"), nullptr);
    EXPECT_TRUE(TestWorld::find(after, "b")->ended);
    EXPECT_EQ(energy_of(after, "b"), energy_of(before, "b"));
}

}  // namespace
}  // namespace aliquot::telemetry
