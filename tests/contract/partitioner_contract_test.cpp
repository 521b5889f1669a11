// SPDX-License-Identifier: Apache-2.0
//
// What every gpu::Partitioner promises, asked of nvml::Driver over the simulated libnvidia-ml.so.1,
// and that gpu::Sensors tells of the MIG devices that it makes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <set>

#include "gpu/partitioning.h"
#include "tests/contract/driver_world.h"

namespace aliquot {
namespace {

using namespace std::chrono_literals;
using contract::World;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

gpu::Uuid first_gpu(World& world) {
    const auto inventory = world.sensors().enumerate();
    EXPECT_TRUE(inventory) << inventory.error().message;
    return inventory->gpus.at(0).uuid;
}

gpu::Gpu seen_gpu(World& world, std::size_t index) {
    const auto inventory = world.sensors().enumerate();
    EXPECT_TRUE(inventory) << inventory.error().message;
    return inventory->gpus.at(index);
}

gpu::Partitions look(World& world, const gpu::Uuid& gpu) {
    auto partitions = world.driver().partitions(gpu);
    EXPECT_TRUE(partitions) << partitions.error().message;
    return partitions ? *std::move(partitions) : gpu::Partitions{};
}

const gpu::MigProfile& profile(const gpu::Partitions& partitions, const std::string& name) {
    const auto found = std::ranges::find(partitions.profiles, name, &gpu::MigProfile::name);
    if (found == partitions.profiles.end()) throw std::runtime_error("no profile " + name);
    return *found;
}

/// MIG mode, with the reset where the GPU wants one.
void enable(World& world, const gpu::Uuid& gpu) {
    const auto change = world.driver().set_mode(gpu, true);
    ASSERT_TRUE(change) << change.error().message;
    if (*change == gpu::ModeChange::kNeedsReset) {
        EXPECT_FALSE(look(world, gpu).enabled);
        EXPECT_TRUE(look(world, gpu).pending);
        const auto reset = world.driver().reset(gpu, {});
        ASSERT_TRUE(reset) << reset.error().message;
    }
    EXPECT_TRUE(look(world, gpu).enabled);
}

class PartitionerOf : public testing::TestWithParam<const char*> {};

TEST_P(PartitionerOf, CutsAGpuAndPutsItTogetherAgain) {
    World world(GetParam());
    gpu::Partitioner& partitioner = world.driver();
    const gpu::Uuid uuid = first_gpu(world);
    enable(world, uuid);
    const auto before = look(world, uuid);
    ASSERT_FALSE(before.profiles.empty());
    EXPECT_THAT(before.instances, IsEmpty());
    std::set<std::string> names;
    for (const gpu::MigProfile& one : before.profiles) {
        EXPECT_TRUE(names.insert(one.name).second) << one.name;
        EXPECT_FALSE(one.placements.empty()) << one.name;
        EXPECT_TRUE(std::ranges::is_sorted(one.placements)) << one.name;
        EXPECT_LE(one.most, one.placements.size()) << one.name;
        EXPECT_GT(one.memory_mib, 0U);
    }
    // Every profile at its last place, with one compute instance that fills it.
    for (const gpu::MigProfile& one : before.profiles) {
        const auto made = partitioner.create(uuid, one.id, one.placements.back());
        ASSERT_TRUE(made) << one.name << ": " << made.error().message;
        const auto compute = partitioner.create_compute(uuid, *made, one.slices);
        ASSERT_TRUE(compute) << one.name << ": " << compute.error().message;
        const auto now = look(world, uuid);
        ASSERT_THAT(now.instances, SizeIs(1)) << one.name;
        EXPECT_EQ(now.instances[0].id, *made);
        EXPECT_EQ(now.instances[0].profile_id, one.id);
        EXPECT_EQ(now.instances[0].placement, one.placements.back());
        ASSERT_THAT(now.instances[0].compute, SizeIs(1));
        EXPECT_EQ(now.instances[0].compute[0].slices, one.slices);
        EXPECT_FALSE(now.instances[0].compute[0].busy);
        const gpu::Gpu seen = seen_gpu(world, 0);
        ASSERT_THAT(seen.mig_devices, SizeIs(1)) << one.name;
        EXPECT_EQ(seen.mig_devices[0].profile, one.name);
        EXPECT_EQ(seen.mig_devices[0].uuid, now.instances[0].compute[0].device);
        EXPECT_EQ(seen.mig_devices[0].placement, one.placements.back());
        EXPECT_EQ(seen.mig_devices[0].memory_bytes, one.memory_mib << 20U);
        ASSERT_TRUE(partitioner.destroy_compute(uuid, *made, *compute));
        ASSERT_TRUE(partitioner.destroy(uuid, *made));
    }
    EXPECT_THAT(look(world, uuid).instances, IsEmpty());
    const auto off = partitioner.set_mode(uuid, false);
    ASSERT_TRUE(off) << off.error().message;
}
INSTANTIATE_TEST_SUITE_P(Models, PartitionerOf,
                         testing::Values("a30:1", "a100-40:2", "a100-80:1", "h100-80:2", "h200:1"),
                         [](const auto& test) {
                             std::string name = test.param;
                             std::replace_if(
                                 name.begin(), name.end(), [](char c) { return !std::isalnum(c); },
                                 '_');
                             return name;
                         });

TEST(Partitioner, NamesTheA100AsNvidiaDoes) {
    World world("a100-40:1");
    ASSERT_TRUE(world.node().cut(0, ""));
    const gpu::Uuid uuid = first_gpu(world);
    std::vector<std::string> names;
    for (const gpu::MigProfile& one : look(world, uuid).profiles) names.push_back(one.name);
    EXPECT_THAT(names, ElementsAre("7g.40gb", "4g.20gb", "3g.20gb", "2g.10gb", "1g.10gb", "1g.5gb",
                                   "1g.5gb+me"));
}

TEST(Partitioner, TellsDevicesWithTheirCapabilities) {
    World world("a100-40:2");
    ASSERT_TRUE(world.node().cut(1, "3g.20gb,2g.10gb,1g.5gb*2"));
    EXPECT_THAT(seen_gpu(world, 0).mig_devices, IsEmpty());
    const gpu::Gpu seen = seen_gpu(world, 1);
    EXPECT_TRUE(seen.mig_enabled);
    ASSERT_THAT(seen.mig_devices, SizeIs(4));
    std::set<unsigned> caps;
    std::multiset<std::string> profiles;
    for (const gpu::MigDevice& device : seen.mig_devices) {
        profiles.insert(device.profile);
        EXPECT_THAT(device.uuid.text, testing::StartsWith("MIG-"));
        for (const auto& cap : {device.gpu_instance_cap, device.compute_instance_cap}) {
            ASSERT_TRUE(cap);
            EXPECT_TRUE(caps.insert(*cap).second);
            EXPECT_TRUE(contract::fs::exists(world.directory() / "dev/nvidia-caps" /
                                             ("nvidia-cap" + std::to_string(*cap))));
        }
    }
    EXPECT_THAT(profiles, ElementsAre("1g.5gb", "1g.5gb", "2g.10gb", "3g.20gb"));
}

TEST(Partitioner, NeverDestroysWhatAProcessUses) {
    World world("a100-40:1");
    ASSERT_TRUE(world.node().cut(0, "3g.20gb*2"));
    const gpu::Uuid uuid = first_gpu(world);
    const auto views = world.node().gpus().at(0).mig_devices;
    const auto pid = static_cast<std::uint32_t>(::getpid());
    ASSERT_TRUE(world.node().set_process(0, pid, 1 << 20, 10, views.at(0).instance));
    const auto partitions = look(world, uuid);
    EXPECT_TRUE(partitions.in_use);
    for (const gpu::MigInstance& instance : partitions.instances) {
        const bool used = instance.id == views.at(0).instance.gpu_instance;
        EXPECT_EQ(instance.compute.at(0).busy, used);
        const auto done =
            world.driver().destroy_compute(uuid, instance.id, instance.compute.at(0).id);
        EXPECT_EQ(done.ok(), !used);
        if (used) {
            EXPECT_EQ(done.error().code, ErrorCode::kConflict);
        }
    }
    const auto reset = world.driver().reset(uuid, {});
    ASSERT_FALSE(reset);
    EXPECT_EQ(reset.error().code, ErrorCode::kConflict);
    EXPECT_THAT(look(world, uuid).instances, SizeIs(2));
}

TEST(Partitioner, RefusesWhatOverlapsAndWhatIsNot) {
    World world("a100-40:1");
    ASSERT_TRUE(world.node().cut(0, "3g.20gb@4"));
    const gpu::Uuid uuid = first_gpu(world);
    const auto now = look(world, uuid);
    gpu::Partitioner& partitioner = world.driver();
    const auto taken = partitioner.create(uuid, profile(now, "2g.10gb").id, {4, 2});
    ASSERT_FALSE(taken);
    EXPECT_EQ(taken.error().code, ErrorCode::kConflict) << taken.error().message;
    EXPECT_FALSE(partitioner.create(uuid, profile(now, "3g.20gb").id, {1, 4}));
    EXPECT_FALSE(partitioner.create(uuid, 77, {0, 1}));
    const auto full = partitioner.destroy(uuid, now.instances.at(0).id);
    ASSERT_FALSE(full);
    EXPECT_EQ(full.error().code, ErrorCode::kConflict);
    EXPECT_EQ(partitioner.destroy(uuid, 99).error().code, ErrorCode::kNotFound);
    World plain("a2:1");
    EXPECT_EQ(plain.driver().partitions(first_gpu(plain)).error().code, ErrorCode::kUnsupported);
    EXPECT_EQ(plain.driver().set_mode(first_gpu(plain), true).error().code,
              ErrorCode::kUnsupported);
}

TEST(Partitioner, CutsAnInstanceIntoComputeInstances) {
    World world("a100-40:1");
    ASSERT_TRUE(world.node().cut(0, ""));
    const gpu::Uuid uuid = first_gpu(world);
    const auto made = world.driver().create(uuid, profile(look(world, uuid), "3g.20gb").id, {4, 4});
    ASSERT_TRUE(made) << made.error().message;
    for (const unsigned slices : {1, 2}) {
        const auto compute = world.driver().create_compute(uuid, *made, slices);
        ASSERT_TRUE(compute) << compute.error().message;
    }
    const gpu::Gpu seen = seen_gpu(world, 0);
    ASSERT_THAT(seen.mig_devices, SizeIs(2));
    std::multiset<std::string> profiles;
    for (const auto& device : seen.mig_devices) profiles.insert(device.profile);
    EXPECT_THAT(profiles, ElementsAre("1c.3g.20gb", "2c.3g.20gb"));
}

TEST(Sensors, TellTheMigDeviceOfAnXid) {
    World world("a100-40:1");
    ASSERT_TRUE(world.node().cut(0, "3g.20gb*2"));
    ASSERT_TRUE(world.sensors().wait_faults(1ms));
    const auto where = world.node().gpus().at(0).mig_devices.at(1).instance;
    ASSERT_TRUE(world.node().inject(0, sim::FaultKind::kXid, 94, where));
    const auto faults = world.sensors().wait_faults(10s);
    ASSERT_TRUE(faults) << faults.error().message;
    const auto fault = std::ranges::find(*faults, 94U, &gpu::FaultEvent::xid);
    ASSERT_NE(fault, faults->end());
    EXPECT_EQ(fault->gpu_instance, where.gpu_instance);
    EXPECT_EQ(fault->compute_instance, where.compute_instance);
}

}  // namespace
}  // namespace aliquot
