// SPDX-License-Identifier: Apache-2.0
#include "sharing/offer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace aliquot::sharing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::uint64_t kGi = 1ULL << 30U;

gpu::Inventory node(std::vector<std::string> models) {
    gpu::Inventory inventory;
    for (unsigned i = 0; i < models.size(); ++i) {
        inventory.gpus.push_back({.index = i,
                                  .uuid = {"GPU-" + std::string(1, static_cast<char>('a' + i))},
                                  .minor = i,
                                  .model = models[i],
                                  .memory_bytes = 16 * kGi});
    }
    return inventory;
}

Config sliced(std::vector<SharedResource> entries) {
    Config config;
    config.sharing.mechanism = grant::Mechanism::kTimeSlicing;
    config.sharing.resources = std::move(entries);
    return config;
}

std::vector<std::string> ids_of(const Resource& resource) {
    std::vector<std::string> ids;
    for (const auto& device : resource.devices()) ids.push_back(device.id);
    return ids;
}

TEST(Offer, WithoutSharingEveryGpuIsOneDevice) {
    const auto offer = make_offer({}, node({"NVIDIA A2", "NVIDIA A2"}));
    ASSERT_TRUE(offer);
    ASSERT_EQ(offer->resources.size(), 1U);
    EXPECT_EQ(offer->resources[0].name, "nvidia.com/gpu");
    EXPECT_THAT(ids_of(offer->resources[0]), ElementsAre("GPU-a", "GPU-b"));
}

TEST(Offer, ReplicasBecomeDevices) {
    const auto offer =
        make_offer(sliced({{.name = "nvidia.com/gpu", .replicas = 2}}), node({"A", "B"}));
    ASSERT_TRUE(offer);
    EXPECT_THAT(ids_of(offer->resources[0]),
                ElementsAre("GPU-a::0", "GPU-a::1", "GPU-b::0", "GPU-b::1"));
}

TEST(Offer, AnUnhealthyGpuStaysInTheListWithAllItsReplicas) {
    auto inventory = node({"A", "B"});
    inventory.gpus[0].health = {gpu::Health::State::kUnhealthy, "lost"};
    const auto offer = make_offer(sliced({{.name = "nvidia.com/gpu", .replicas = 2}}), inventory);
    ASSERT_TRUE(offer);
    const auto devices = offer->resources[0].devices();
    ASSERT_EQ(devices.size(), 4U);
    EXPECT_FALSE(devices[0].healthy || devices[1].healthy);
    EXPECT_TRUE(devices[2].healthy && devices[3].healthy);
}

TEST(Offer, RenamesByDefaultOrByEntry) {
    Config config = sliced({{.name = "nvidia.com/gpu", .replicas = 2}});
    config.sharing.rename_by_default = true;
    auto offer = make_offer(config, node({"A"}));
    ASSERT_TRUE(offer);
    EXPECT_EQ(offer->resources[0].name, "nvidia.com/gpu.shared");
    config.sharing.resources[0].rename = "nvidia.com/slice";
    offer = make_offer(config, node({"A"}));
    ASSERT_TRUE(offer);
    EXPECT_EQ(offer->resources[0].name, "nvidia.com/slice");
}

TEST(Offer, EntriesApplyPerGpuAndPerModel) {
    DeviceSelector by_model{.all = false, .models = {"*a2"}};
    DeviceSelector by_uuid{.all = false, .uuids = {"GPU-b"}};
    const auto offer =
        make_offer(sliced({{.name = "nvidia.com/gpu",
                            .replicas = 4,
                            .devices = by_uuid,
                            .rename = "nvidia.com/big",
                            .limits = {.memory_bytes = 3 * kGi, .compute_percent = 25}},
                           {.name = "nvidia.com/gpu",
                            .replicas = 2,
                            .devices = by_model,
                            .rename = "nvidia.com/small"}}),
                   node({"NVIDIA A2", "Tesla T4", "NVIDIA L4"}));
    ASSERT_TRUE(offer);
    ASSERT_EQ(offer->resources.size(), 3U);
    EXPECT_EQ(offer->resources[0].name, "nvidia.com/big");
    EXPECT_EQ(offer->resources[0].gpus[0].limits.memory_bytes, 3 * kGi);
    EXPECT_EQ(offer->resources[1].name, "nvidia.com/gpu");
    EXPECT_THAT(ids_of(offer->resources[1]), ElementsAre("GPU-c"));
    EXPECT_THAT(ids_of(offer->resources[2]), ElementsAre("GPU-a::0", "GPU-a::1"));
}

TEST(Offer, SaysWhenAnEntryFindsNoGpuAndWhenANameIsMixed) {
    DeviceSelector first{.all = false, .indices = {0}};
    DeviceSelector ninth{.all = false, .indices = {9}};
    const auto offer =
        make_offer(sliced({{.name = "nvidia.com/gpu", .replicas = 2, .devices = first},
                           {.name = "nvidia.com/gpu", .devices = ninth}}),
                   node({"A", "B"}));
    ASSERT_TRUE(offer);
    EXPECT_THAT(offer->remarks, ElementsAre(HasSubstr("resources[1] matches no GPU"),
                                            HasSubstr("give the shared entry a `rename`")));
}

TEST(Offer, RefusesMemoryThatTheGpuDoesNotHave) {
    const auto offer = make_offer(
        sliced({{.name = "nvidia.com/gpu", .replicas = 4, .limits = {.memory_bytes = 5 * kGi}}}),
        node({"NVIDIA A2"}));
    ASSERT_FALSE(offer);
    EXPECT_EQ(offer.error().code, ErrorCode::kInvalidInput);
    EXPECT_EQ(offer.error().message,
              "sharing.timeSlicing.resources[0]: 4 replicas with memory 5Gi do not fit GPU 0 "
              "(NVIDIA A2, 16Gi); at most 4Gi each");
}

TEST(Offer, LeavesOutWhatHasNoNameOrIsADisplay) {
    auto inventory = node({"NVIDIA DGX Display", "A"});
    inventory.gpus.push_back({.index = 2});
    const auto offer = make_offer({}, inventory);
    ASSERT_TRUE(offer);
    EXPECT_THAT(ids_of(offer->resources[0]), ElementsAre("GPU-b"));
    EXPECT_THAT(make_offer({}, {})->resources, IsEmpty());
}

TEST(Offer, NamesSocketsAsNvidiaDoes) {
    EXPECT_EQ(socket_name("nvidia.com/gpu"), "nvidia-gpu.sock");
    EXPECT_EQ(socket_name("nvidia.com/gpu.shared"), "nvidia-gpu.shared.sock");
}

TEST(Offer, AGpuThatIsLentToVirtualMachinesIsNotOffered) {
    gpu::Inventory inventory = node({"A", "B"});
    inventory.gpus[1].virtualization = gpu::Virtualization::kVgpuHost;
    const auto offer = make_offer(Config{}, inventory);
    ASSERT_TRUE(offer) << offer.error().message;
    ASSERT_EQ(offer->resources.size(), 1U);
    EXPECT_EQ(offer->resources[0].gpus.size(), 1U);
    ASSERT_EQ(offer->remarks.size(), 1U);
    EXPECT_TRUE(offer->remarks[0].starts_with("GPU 1 lent to virtual machines"))
        << offer->remarks[0];
}

}  // namespace
}  // namespace aliquot::sharing
