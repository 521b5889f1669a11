// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <random>

#include "telemetry/test_world.h"

namespace aliquot::telemetry {
namespace {

using ::testing::Optional;

constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr std::uint64_t kMiB = TestWorld::kMiB;

class SharedGpu : public ::testing::Test {
protected:
    void share(unsigned replicas, grant::Mechanism mechanism = grant::Mechanism::kTimeSlicing) {
        world.offered["GPU-0"] = {
            .resource = "nvidia.com/gpu", .mechanism = mechanism, .replicas = replicas};
    }
    TestWorld world;
};

/// Everything that can be divided adds up, over tenants and remainder.
void expect_exact(const Device& device) {
    using Member = std::optional<std::uint64_t> Amounts::*;
    for (const Member member :
         {&Amounts::memory_bytes, &Amounts::utilization_ppm, &Amounts::busy_ns,
          &Amounts::power_milliwatts, &Amounts::energy_millijoules}) {
        std::uint64_t of_device = (device.remainder.*member).value_or(0);
        for (const Part& part : device.parts) {
            std::uint64_t sum = (part.remainder.*member).value_or(0);
            for (const Tenant& tenant : part.tenants) {
                sum += (tenant.amounts.*member).value_or(0);
                of_device += (tenant.amounts.*member).value_or(0);
            }
            if (part.total.*member) {
                EXPECT_EQ(sum, *(part.total.*member));
            }
            EXPECT_EQ((part.total.*member).has_value(), (part.remainder.*member).has_value());
        }
        if (device.total.*member) {
            EXPECT_EQ(of_device, *(device.total.*member));
        }
        EXPECT_EQ((device.total.*member).has_value(), (device.remainder.*member).has_value());
    }
}

TEST_F(SharedGpu, WhoHasAGpuAloneHasAllOfIt) {
    world.hold("trainer", {"GPU-0"});
    world.processes[7] = {.pod = "trainer", .memory_mib = 1000, .percent = 50};
    world.second();
    const Device device = world.seconds(10);
    const Tenant* const trainer = TestWorld::find(device, "trainer");
    ASSERT_NE(trainer, nullptr);
    EXPECT_EQ(trainer->source, Source::kWhole);
    EXPECT_THAT(trainer->amounts.busy_ns, Optional(5 * kSecond));
    EXPECT_THAT(trainer->amounts.utilization_ppm, Optional(500'000U));
    EXPECT_THAT(trainer->amounts.memory_bytes, Optional(1100 * kMiB));
    EXPECT_THAT(trainer->memory_limit_bytes, Optional((16'384 - 256) * kMiB));
    EXPECT_THAT(trainer->amounts.power_milliwatts, Optional(20'000U));
    EXPECT_THAT(trainer->amounts.energy_millijoules, Optional(200'000U));
    EXPECT_EQ(trainer->entitlement_ppm, kMillion);
    EXPECT_THAT(device.remainder.memory_bytes, Optional(0U));
    expect_exact(device);
}

TEST_F(SharedGpu, TenantsOfTimeSlicesGetWhatTheirProcessesUsed) {
    share(4);
    for (unsigned i = 0; i < 4; ++i) {
        const std::string pod = "p" + std::to_string(i);
        world.hold(pod, {"GPU-0::" + std::to_string(i)});
        world.processes[100 + i] = {.pod = pod, .memory_mib = 1000, .percent = 10 * i};
    }
    world.second();
    const Device device = world.seconds(100);
    for (unsigned i = 0; i < 4; ++i) {
        const Tenant* const tenant = TestWorld::find(device, "p" + std::to_string(i));
        ASSERT_NE(tenant, nullptr);
        EXPECT_EQ(tenant->source, Source::kDriver);
        EXPECT_THAT(tenant->amounts.busy_ns, Optional(i * 10 * kSecond));
        EXPECT_THAT(tenant->amounts.memory_bytes, Optional(1000 * kMiB));
        EXPECT_EQ(tenant->entitlement_ppm, kMillion / 4);
        EXPECT_THAT(tenant->share_utilization_ppm, Optional(400'000U * i));
        EXPECT_THAT(tenant->idle_held_ns, Optional(i == 0 ? 101 * kSecond - kSecond : 0U));
    }
    EXPECT_THAT(device.total.busy_ns, Optional(60 * kSecond));
    EXPECT_THAT(device.remainder.memory_bytes, Optional(100 * kMiB));
    EXPECT_THAT(device.remainder.busy_ns, Optional(0U));
    expect_exact(device);
}

TEST_F(SharedGpu, UsesThatAddUpToMoreThanTheGpuAreScaledDown) {
    share(2);
    world.hold("a", {"GPU-0::0"});
    world.hold("b", {"GPU-0::1"});
    world.processes[1] = {.pod = "a", .percent = 90};
    world.processes[2] = {.pod = "b", .percent = 90};
    world.second();
    const Device device = world.seconds(10);
    EXPECT_THAT(TestWorld::find(device, "a")->amounts.busy_ns, Optional(5 * kSecond));
    EXPECT_THAT(device.total.busy_ns, Optional(10 * kSecond));
    expect_exact(device);
}

TEST_F(SharedGpu, WholePerCentsOfTheDriverLoseNothing) {
    share(4);
    for (unsigned i = 0; i < 4; ++i) {
        world.hold("p" + std::to_string(i), {"GPU-0::" + std::to_string(i)});
        world.processes[10 + i] = {.pod = "p" + std::to_string(i), .percent = 24};  // of 24.9
    }
    world.gpu_percent = 100;
    world.second();
    const Device device = world.seconds(10);
    EXPECT_THAT(TestWorld::find(device, "p2")->amounts.busy_ns, Optional(10 * kSecond / 4));
    expect_exact(device);
}

TEST_F(SharedGpu, AProcessOfTheHostIsTheRemainder) {
    share(2);
    world.hold("a", {"GPU-0::0"});
    world.processes[1] = {.pod = "a", .memory_mib = 10, .percent = 30};
    world.processes[2] = {.memory_mib = 50, .percent = 30};
    world.second();
    const Device device = world.seconds(10);
    EXPECT_THAT(TestWorld::find(device, "a")->amounts.busy_ns, Optional(3 * kSecond));
    EXPECT_THAT(device.remainder.busy_ns, Optional(3 * kSecond));
    EXPECT_THAT(device.remainder.memory_bytes, Optional(150 * kMiB));
    ASSERT_EQ(device.parts.front().others.size(), 1U);
    EXPECT_EQ(device.parts.front().others.front().pid, 2U);
    EXPECT_THAT(device.parts.front().others.front().utilization_ppm, Optional(300'000U));
    expect_exact(device);
}

TEST_F(SharedGpu, WhatIsNotKnownIsAbsent) {
    share(2);
    world.lists_uses = false;
    world.hold("a", {"GPU-0::0"});
    world.hold("b", {"GPU-0::1"});
    world.processes[1] = {.pod = "a", .memory_mib = 10, .percent = 30};
    world.processes[2] = {.pod = "b", .memory_mib = 10, .percent = 30};
    world.second();
    const Device device = world.seconds(3);
    const Tenant* const a = TestWorld::find(device, "a");
    EXPECT_EQ(a->source, Source::kNone);
    EXPECT_EQ(a->amounts.busy_ns, std::nullopt);
    EXPECT_EQ(a->amounts.utilization_ppm, std::nullopt);
    EXPECT_EQ(a->amounts.power_milliwatts, std::nullopt);
    EXPECT_EQ(a->idle_held_ns, std::nullopt);
    EXPECT_THAT(a->amounts.memory_bytes, Optional(10 * kMiB));
    EXPECT_THAT(device.remainder.busy_ns, Optional(3 * 6 * kSecond / 10));
    expect_exact(device);
}

TEST_F(SharedGpu, WithLimitsTheGuardsCountIsTaken) {
    share(2);
    world.hold("a", {"GPU-0::0"});
    world.processes[1] = {.pod = "a", .memory_mib = 300, .percent = 50};
    guard_region::DeviceStatus guard{.uuid = "GPU-0",
                                     .limits = {.memory_bytes = 4096 * kMiB, .cap_ppm = 400'000},
                                     .peak_bytes = 900 * kMiB,
                                     .denied = 3,
                                     .gpu_ns = 0,
                                     .throttled_ns = 77};
    world.regions.push_back(
        {.pod_namespace = "team", .pod = "a", .container = "main", .resource = "nvidia.com/gpu"});
    world.regions.front().devices = {guard};
    world.second();
    for (unsigned i = 0; i < 10; ++i) {
        world.regions.front().devices.front().gpu_ns += kSecond * 2 / 5;
        world.second();
    }
    world.regions.front().devices.front().gpu_ns += kSecond * 2 / 5;
    const Device device = world.second();
    const Tenant* const a = TestWorld::find(device, "a");
    EXPECT_EQ(a->source, Source::kGuard);
    EXPECT_THAT(a->amounts.busy_ns, Optional(11 * kSecond * 2 / 5));
    EXPECT_EQ(a->entitlement_ppm, 400'000U);
    EXPECT_THAT(a->share_utilization_ppm, Optional(kMillion));
    EXPECT_THAT(a->memory_limit_bytes, Optional(4096 * kMiB));
    EXPECT_THAT(a->memory_peak_bytes, Optional(900 * kMiB));
    EXPECT_THAT(a->denied, Optional(3U));
    EXPECT_THAT(a->throttled_ns, Optional(77U));
    expect_exact(device);
}

/// A tenant whose guard counts `counted` per cent of the time, and the driver 40.
class GuardedTenant : public SharedGpu {
protected:
    Device run(unsigned counted, unsigned seconds) {
        share(4);
        world.hold("a", {"GPU-0::0"});
        world.processes[10] = {.pod = "a", .memory_mib = 1000, .percent = 40};
        guard_region::RegionStatus region{
            .pod_namespace = "team", .pod = "a", .container = "main", .resource = "nvidia.com/gpu"};
        region.devices = {{.uuid = "GPU-0", .limits = {.cap_ppm = 400'000}}};
        world.regions = {region};
        Device device = world.second();
        for (unsigned i = 0; i < seconds; ++i) {
            world.regions.front().devices.front().gpu_ns += kSecond * counted / 100;
            device = world.second();
        }
        return device;
    }
};

TEST_F(GuardedTenant, IsShownByItsGuardWhereTheDriverSaysAboutTheSame) {
    for (const unsigned counted : {33U, 40U, 70U}) {
        const Device device = run(counted, 30);
        EXPECT_EQ(TestWorld::find(device, "a")->source, Source::kGuard) << counted;
        world = {};
    }
}

TEST_F(GuardedTenant, IsShownByTheDriverWhereItsGuardMissesWork) {
    const Device device = run(5, 30);
    const Tenant* const a = TestWorld::find(device, "a");
    EXPECT_EQ(a->source, Source::kDriver);
    EXPECT_THAT(a->amounts.utilization_ppm, Optional(400'000U));
}

TEST_F(SharedGpu, WhatGuardsMissOfAGpuThatNobodyElseUsesIsTheirs) {
    share(2);
    for (const std::string pod : {"a", "b"}) {
        world.hold(pod, {"GPU-0::" + std::to_string(pod == "b")});
        world.processes[pod == "a" ? 1 : 2] = {.pod = pod, .memory_mib = 300, .percent = 25};
        guard_region::RegionStatus region{
            .pod_namespace = "team", .pod = pod, .container = "main", .resource = "nvidia.com/gpu"};
        region.devices = {{.uuid = "GPU-0", .limits = {.cap_ppm = 250'000}}};
        world.regions.push_back(region);
    }
    world.second();
    const auto count = [this](std::uint64_t each) {
        for (auto& region : world.regions) region.devices.front().gpu_ns += each;
        return world.second();
    };
    Device device = count(kSecond * 23 / 100);  // 8 % less than the driver says
    EXPECT_THAT(device.remainder.busy_ns, Optional(0U));
    EXPECT_THAT(TestWorld::find(device, "a")->amounts.busy_ns, Optional(kSecond / 4));
    world.processes[3] = {.memory_mib = 10, .percent = 0};  // somebody else may have used the rest
    device = count(kSecond * 23 / 100);
    EXPECT_THAT(TestWorld::find(device, "a")->amounts.busy_ns, Optional(kSecond * 48 / 100));
    expect_exact(device);
}

TEST_F(SharedGpu, WhatATenantUsedIsKeptWhenItEnds) {
    share(2);
    world.hold("a", {"GPU-0::0"});
    world.processes[1] = {.pod = "a", .percent = 50};
    world.second();
    world.seconds(10);
    world.processes.clear();
    world.let_go("a");
    Device device = world.second();
    const Tenant* const a = TestWorld::find(device, "a");
    ASSERT_NE(a, nullptr);
    EXPECT_TRUE(a->ended);
    EXPECT_THAT(a->amounts.busy_ns, Optional(5 * kSecond));
    EXPECT_EQ(a->amounts.memory_bytes, std::nullopt);
    expect_exact(device);
    device = world.seconds(400);
    EXPECT_EQ(TestWorld::find(device, "a"), nullptr);
    EXPECT_EQ(device.parts.front().ended_busy_ns, 5 * kSecond);
    EXPECT_THAT(device.remainder.busy_ns, Optional(5 * kSecond));
    expect_exact(device);
}

TEST_F(SharedGpu, ADriverThatDoesNotAnswerIsNoIdleness) {
    share(2);
    world.hold("a", {"GPU-0::0"});
    world.processes[1] = {.pod = "a", .memory_mib = 5, .percent = 50};
    world.second();
    world.seconds(5);
    world.answers = false;
    Device device = world.second();
    EXPECT_EQ(device.problem, "GPU-0: GPU is lost");
    EXPECT_THAT(TestWorld::find(device, "a")->amounts.memory_bytes, Optional(5 * kMiB));
    EXPECT_THAT(TestWorld::find(device, "a")->idle_held_ns, Optional(0U));
    device = world.seconds(20);
    EXPECT_EQ(device.metrics.get(gpu::Metric::kPowerMilliwatts), std::nullopt);
    EXPECT_EQ(TestWorld::find(device, "a")->amounts.memory_bytes, std::nullopt);
    EXPECT_EQ(TestWorld::find(device, "a")->amounts.utilization_ppm, std::nullopt);
    EXPECT_THAT(TestWorld::find(device, "a")->amounts.busy_ns, Optional(5 * kSecond / 2));
    EXPECT_THAT(TestWorld::find(device, "a")->idle_held_ns, Optional(0U));
    expect_exact(device);
    world.answers = true;
    device = world.seconds(2);
    EXPECT_EQ(device.problem, "");
    expect_exact(device);
}

TEST_F(SharedGpu, WhatTheGpuDrawsAtRestIsNobodys) {
    share(2);
    world.hold("a", {"GPU-0::0"});
    world.hold("b", {"GPU-0::1"});
    world.seconds(5);  // at rest with 20 W
    world.power_milliwatts = 60'000;
    world.processes[1] = {.pod = "a", .percent = 60};
    world.processes[2] = {.pod = "b", .percent = 20};
    const Device device = world.seconds(10);
    EXPECT_THAT(TestWorld::find(device, "a")->amounts.power_milliwatts, Optional(30'000U));
    EXPECT_THAT(TestWorld::find(device, "b")->amounts.power_milliwatts, Optional(10'000U));
    EXPECT_THAT(TestWorld::find(device, "a")->amounts.energy_millijoules, Optional(300'000U));
    EXPECT_THAT(device.remainder.power_milliwatts, Optional(20'000U));
    expect_exact(device);
}

class CutGpu : public SharedGpu {
protected:
    void SetUp() override {
        world.gpu_.mig_capable = world.gpu_.mig_enabled = true;
        world.gpu_.mig_devices = {
            {.uuid = {"MIG-3"}, .profile = "3g.20gb", .gpu_instance = 1, .gpu_slices = 3},
            {.uuid = {"MIG-1"}, .profile = "1g.5gb", .gpu_instance = 7, .gpu_slices = 1}};
        world.hold("big", {"MIG-3"}, "nvidia.com/mig-3g.20gb");
        world.hold("small", {"MIG-1"}, "nvidia.com/mig-1g.5gb");
        world.processes[1] = {.pod = "big", .memory_mib = 500, .gpu_instance = 1};
        world.processes[2] = {.pod = "small", .memory_mib = 50, .gpu_instance = 7};
    }
};

TEST_F(CutGpu, InstancesAreAccountedEachForItself) {
    world.instance_active = {{1, 0.5}, {7, 0.25}};
    world.second();
    const Device device = world.seconds(10);
    ASSERT_EQ(device.parts.size(), 2U);
    EXPECT_THAT(TestWorld::find(device, "big")->amounts.busy_ns, Optional(5 * kSecond));
    EXPECT_THAT(TestWorld::find(device, "small")->amounts.busy_ns, Optional(5 * kSecond / 2));
    EXPECT_THAT(TestWorld::find(device, "big")->amounts.memory_bytes, Optional(510 * kMiB));
    EXPECT_EQ(device.total.busy_ns, std::nullopt);
    // 20 W by 3 slices at 50 % and 1 at 25 %.
    EXPECT_THAT(TestWorld::find(device, "big")->amounts.power_milliwatts,
                Optional(20'000U * 150 / 175));
    EXPECT_FALSE(world.account_.mig_use_unknown());
    expect_exact(device);
}

TEST_F(CutGpu, WithoutInstanceMetricsUseIsAbsentAndMemoryIsThere) {
    world.second();
    const Device device = world.seconds(3);
    EXPECT_EQ(TestWorld::find(device, "big")->amounts.busy_ns, std::nullopt);
    EXPECT_EQ(TestWorld::find(device, "big")->amounts.power_milliwatts, std::nullopt);
    EXPECT_THAT(TestWorld::find(device, "big")->amounts.memory_bytes, Optional(510 * kMiB));
    EXPECT_TRUE(world.account_.mig_use_unknown());
    expect_exact(device);
}

/// Pods come and go, use what they like; whatever happens, the sums are exact.
TEST_F(SharedGpu, SumsAreExactWhateverHappens) {
    std::mt19937 random(42);
    const auto up_to = [&](unsigned most) { return static_cast<unsigned>(random() % (most + 1)); };
    share(8);
    Device before;
    for (unsigned step = 0; step < 3000; ++step) {
        const std::string pod = "p" + std::to_string(up_to(11));
        const std::uint32_t pid = 1 + up_to(30);
        switch (up_to(7)) {
            case 0:
                world.let_go(pod);
                world.hold(pod, {"GPU-0::" + std::to_string(up_to(7))});
                break;
            case 1:
                world.let_go(pod);
                break;
            case 2:
                world.processes[pid] = {.pod = up_to(4) == 0 ? "" : pod,
                                        .memory_mib = up_to(400),
                                        .percent = up_to(60)};
                break;
            case 3:
                world.processes.erase(pid);
                break;
            case 4:
                world.gpu_percent = up_to(3) == 0 ? std::nullopt : std::optional(up_to(100));
                break;
            case 5:
                world.power_milliwatts = 10'000 + up_to(300'000);
                break;
            case 6:
                world.answers = up_to(20) != 0;
                break;
            default:
                world.lists_uses = up_to(9) != 0;
        }
        const Device device = world.second();
        expect_exact(device);
        if (before.total.busy_ns) {
            EXPECT_GE(device.total.busy_ns, before.total.busy_ns);
        }
        if (before.total.energy_millijoules) {
            EXPECT_GE(device.total.energy_millijoules, before.total.energy_millijoules);
        }
        before = device;
        ASSERT_FALSE(HasFailure()) << "step " << step;
    }
}

}  // namespace
}  // namespace aliquot::telemetry
