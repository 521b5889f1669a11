// SPDX-License-Identifier: Apache-2.0
#include "telemetry/occupants.h"

#include <gmock/gmock.h>

namespace aliquot::telemetry {
namespace {

using ::testing::ElementsAre;

pods::Owner container(const std::string& pod, const std::string& name, const std::string& id = {}) {
    return {.pod_uid = "uid-" + pod,
            .pod_namespace = "team",
            .pod = pod,
            .container = name,
            .container_id = id};
}

class Gpu0 : public ::testing::Test {
protected:
    void SetUp() override {
        gpu.uuid = {"GPU-0"};
        reading.processes.emplace();
    }
    void runs(std::uint32_t pid, const pods::Owner& owner) {
        reading.processes->push_back({.pid = pid, .memory_bytes = 100, .compute = true});
        owners[pid] = {.kind = pods::Belonging::Kind::kPod, .owner = owner};
    }
    Occupants occupants() {
        const Scene scene{.holders = &holders,
                          .offered = &offered,
                          .regions = &regions,
                          .belonging = [this](std::uint32_t pid) { return owners[pid]; }};
        return occupants_on(parts_of(gpu).front(), gpu, reading, nullptr, scene);
    }

    gpu::Gpu gpu;
    gpu::Reading reading;
    pods::Holders holders;
    Offered offered;
    std::vector<guard_region::RegionStatus> regions;
    std::map<std::uint32_t, pods::Belonging> owners;
};

TEST_F(Gpu0, AProcessWithoutAContainersNameIsOfTheOnlyContainerThatHolds) {
    holders.list = {{.owner = container("a", "main"), .ids = {"GPU-0::0"}}};
    runs(1, container("a", ""));
    const Occupants found = occupants();
    ASSERT_EQ(found.list.size(), 1U);
    EXPECT_EQ(found.list.front().processes.size(), 1U);
    EXPECT_EQ(found.list.front().owner.container, "main");
}

TEST_F(Gpu0, AmongSeveralContainersOfAPodItIsNobodysByName) {
    holders.list = {{.owner = container("a", "one"), .ids = {"GPU-0::0"}},
                    {.owner = container("a", "two"), .ids = {"GPU-0::1"}}};
    runs(1, container("a", ""));
    runs(2, container("a", "two"));
    const Occupants found = occupants();
    ASSERT_EQ(found.list.size(), 3U);
    EXPECT_TRUE(found.list[0].processes.empty());
    EXPECT_EQ(found.list[1].processes.front().process.pid, 2U);
    EXPECT_TRUE(found.list[2].ids.empty());
}

TEST_F(Gpu0, PodsOfTheSameNameAreToldApartByUid) {
    holders.list = {{.owner = container("a", "main"), .ids = {"GPU-0::0"}}};
    pods::Owner reborn = container("a", "main");
    reborn.pod_uid = "uid-new";
    runs(1, reborn);
    EXPECT_EQ(occupants().list.size(), 2U);
}

TEST_F(Gpu0, ATenantIsWholeOnlyWhenItIsAlone) {
    holders.list = {{.owner = container("a", "main"), .ids = {"GPU-0"}}};
    EXPECT_TRUE(occupants().list.front().whole);
    runs(9, container("guest", "main"));
    EXPECT_FALSE(occupants().list.front().whole);
    reading.processes->clear();
    holders.list.front().ids = {"GPU-0::0"};
    EXPECT_FALSE(occupants().list.front().whole) << "a replica is never the whole";
}

TEST_F(Gpu0, AProcessThatCannotBeToldApartMakesAllUnknown) {
    holders.list = {{.owner = container("a", "main"), .ids = {"GPU-0::0"}}};
    runs(1, container("a", "main"));
    reading.processes->push_back({.pid = 77});
    const Occupants found = occupants();
    EXPECT_FALSE(found.processes_known);
    EXPECT_EQ(found.others.size(), 1U);
}

TEST_F(Gpu0, TermsFollowTheReplica) {
    offered["GPU-0"] = {
        .resource = "nvidia.com/gpu", .mechanism = grant::Mechanism::kMps, .replicas = 2};
    offered["GPU-0"].shares = {{.memory_bytes = 1000, .compute_percent = 30},
                               {.memory_bytes = 2000, .compute_percent = 70}};
    holders.list = {{.owner = container("a", "main"), .ids = {"GPU-0::1"}}};
    const Occupants found = occupants();
    EXPECT_EQ(found.list.front().memory_limit_bytes, 2000U);
    EXPECT_EQ(found.list.front().entitlement_ppm, 700'000U);
}

TEST(Parts, AreTheGpuInstances) {
    gpu::Gpu gpu{.uuid = {"GPU-0"}, .mig_enabled = true};
    gpu.mig_devices = {
        {.uuid = {"MIG-a"}, .profile = "1c.3g.20gb", .gpu_instance = 2, .gpu_slices = 3},
        {.uuid = {"MIG-b"}, .profile = "1c.3g.20gb", .gpu_instance = 2, .gpu_slices = 3},
        {.uuid = {"MIG-c"}, .profile = "1g.5gb", .gpu_instance = 1, .gpu_slices = 1}};
    const auto parts = parts_of(gpu);
    ASSERT_EQ(parts.size(), 2U);
    EXPECT_EQ(parts[0].profile, "1g.5gb");
    EXPECT_EQ(parts[1].profile, "3g.20gb");
    EXPECT_THAT(parts[1].devices, ElementsAre(gpu::Uuid{"MIG-a"}, gpu::Uuid{"MIG-b"}));
}

TEST(SameContainer, IsToldByUidAndByName) {
    const pods::Owner one{.pod_uid = "u1", .pod_namespace = "ai", .pod = "a", .container = "main"};
    pods::Owner other = one;
    EXPECT_TRUE(same_container(one, other));
    other.pod.clear();
    other.pod_namespace.clear();
    EXPECT_TRUE(same_container(one, other));  // a process whose pod has no name yet
    other = one;
    other.pod_uid.clear();
    EXPECT_TRUE(same_container(one, other));
    other.pod_uid = "u2";
    EXPECT_FALSE(same_container(one, other));  // made anew under its old name
    other = one;
    other.pod = "b";
    EXPECT_FALSE(same_container(one, other));  // the uid went to the wrong name
}

TEST(DeviceNames, AreRead) {
    EXPECT_EQ(read_device_name("GPU-0::12").uuid, "GPU-0");
    EXPECT_EQ(read_device_name("GPU-0::12").replica, 12U);
    EXPECT_EQ(read_device_name("MIG-1").uuid, "MIG-1");
}

}  // namespace
}  // namespace aliquot::telemetry
