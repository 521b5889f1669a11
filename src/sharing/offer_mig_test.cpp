// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "sharing/offer.h"

namespace aliquot::sharing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;
using Ids = std::vector<std::string>;
using enum AllocationPolicy;

constexpr std::uint64_t kGi = 1ULL << 30U;

/// A MIG device of `slices` eighths; profiles in tests are "1g.5gb" and the like.
gpu::MigDevice part(const std::string& uuid, unsigned index, const std::string& profile,
                    unsigned memory_gb) {
    return {.uuid = {"MIG-" + uuid},
            .index = index,
            .profile = profile,
            .gpu_instance = index + 1,
            .memory_bytes = memory_gb * kGi,
            .gpu_instance_cap = 10 * (index + 1),
            .compute_instance_cap = 10 * (index + 1) + 1};
}

gpu::Gpu a100(unsigned index, std::vector<gpu::MigDevice> parts, bool mig = true) {
    return {.index = index,
            .uuid = {"GPU-" + std::string(1, static_cast<char>('a' + index))},
            .minor = index,
            .model = "NVIDIA A100-SXM4-40GB",
            .memory_bytes = 40 * kGi,
            .mig_capable = true,
            .mig_enabled = mig,
            .mig_devices = std::move(parts)};
}

/// One A100 cut as 3g + 2g + 1g + 1g.
gpu::Inventory cut_node() {
    gpu::Inventory node;
    node.gpus.push_back(a100(0, {part("x", 0, "3g.20gb", 20), part("y", 1, "2g.10gb", 10),
                                 part("z", 2, "1g.5gb", 5), part("w", 5, "1g.5gb", 5)}));
    return node;
}

gpu::Inventory small_parts(unsigned gpus) {
    gpu::Inventory node;
    for (unsigned i = 0; i < gpus; ++i) {
        const std::string name = std::to_string(i);
        node.gpus.push_back(
            a100(i, {part(name + "a", 0, "1g.5gb", 5), part(name + "b", 1, "1g.5gb", 5)}));
    }
    return node;
}

Config with(MigStrategy strategy, std::vector<SharedResource> entries = {}) {
    Config config;
    config.flags.mig_strategy = strategy;
    if (!entries.empty()) config.sharing.mechanism = grant::Mechanism::kTimeSlicing;
    config.sharing.resources = std::move(entries);
    return config;
}

Offer offered(const Config& config, const gpu::Inventory& node) {
    auto offer = make_offer(config, node);
    if (!offer) throw std::runtime_error(offer.error().message);
    return *std::move(offer);
}

std::map<std::string, Ids> ids(const Offer& offer) {
    std::map<std::string, Ids> result;
    for (const Resource& resource : offer.resources) {
        for (const auto& device : resource.devices()) result[resource.name].push_back(device.id);
    }
    return result;
}

TEST(MigOffer, NoneOffersTheWholeGpuAndSaysWhatThatMeans) {
    const auto offer = offered(with(MigStrategy::kNone), cut_node());
    EXPECT_THAT(ids(offer), ElementsAre(Pair("nvidia.com/gpu", Ids{"GPU-a"})));
    EXPECT_THAT(offer.remarks, ElementsAre(HasSubstr("GPU 0 in MIG mode, but")));
    EXPECT_THAT(ids(offered({}, cut_node())), SizeIs(1));  // none is the default
}

TEST(MigOffer, MixedNamesEachProfile) {
    auto node = cut_node();
    node.gpus[0].mig_devices[1].profile = "1g.10gb+me";
    node.gpus[0].mig_devices[2].profile = "1c.3g.20gb";
    node.gpus.push_back(a100(1, {}, false));
    node.gpus.push_back(a100(2, {}));
    const auto offer = offered(with(MigStrategy::kMixed), node);
    EXPECT_THAT(ids(offer), ElementsAre(Pair("nvidia.com/gpu", Ids{"GPU-b"}),
                                        Pair("nvidia.com/mig-1c.3g.20gb", Ids{"MIG-z"}),
                                        Pair("nvidia.com/mig-1g.10gb.me", Ids{"MIG-y"}),
                                        Pair("nvidia.com/mig-1g.5gb", Ids{"MIG-w"}),
                                        Pair("nvidia.com/mig-3g.20gb", Ids{"MIG-x"})));
    EXPECT_THAT(offer.remarks, ElementsAre(HasSubstr("GPU 2 in MIG mode without instances")));
}

TEST(MigOffer, APodCanAskForHalfAnA100OfEightyGigabytes) {
    gpu::Inventory node;
    node.gpus.push_back(a100(0, {part("x", 0, "3g.40gb", 40), part("y", 1, "3g.40gb", 40)}));
    EXPECT_THAT(ids(offered(with(MigStrategy::kMixed), node)),
                ElementsAre(Pair("nvidia.com/mig-3g.40gb", Ids{"MIG-x", "MIG-y"})));
}

TEST(MigOffer, SingleCallsAllDevicesOfOneProfileAGpu) {
    const auto offer = offered(with(MigStrategy::kSingle), small_parts(2));
    EXPECT_THAT(ids(offer),
                ElementsAre(Pair("nvidia.com/gpu", Ids{"MIG-0a", "MIG-0b", "MIG-1a", "MIG-1b"})));
    EXPECT_THAT(offer.remarks, IsEmpty());
    gpu::Inventory whole;
    whole.gpus.push_back(a100(0, {}, false));
    EXPECT_THAT(ids(offered(with(MigStrategy::kSingle), whole)),
                ElementsAre(Pair("nvidia.com/gpu", Ids{"GPU-a"})));
}

TEST(MigOffer, SingleOffersWhatItCanOfANodeOfSeveralKinds) {
    auto offer = offered(with(MigStrategy::kSingle), cut_node());
    EXPECT_THAT(ids(offer), ElementsAre(Pair("nvidia.com/gpu", Ids{"MIG-z", "MIG-w"}),
                                        Pair("nvidia.com/mig-2g.10gb", Ids{"MIG-y"}),
                                        Pair("nvidia.com/mig-3g.20gb", Ids{"MIG-x"})));
    EXPECT_THAT(offer.remarks, ElementsAre(HasSubstr("others are offered as nvidia.com/mig-2g"),
                                           HasSubstr("others are offered as nvidia.com/mig-3g")));
    auto node = small_parts(1);
    node.gpus.push_back(a100(1, {}, false));
    node.gpus.push_back(a100(2, {}));
    offer = offered(with(MigStrategy::kSingle), node);
    EXPECT_THAT(ids(offer), ElementsAre(Pair("nvidia.com/gpu", Ids{"MIG-0a", "MIG-0b"})));
    EXPECT_THAT(offer.remarks, ElementsAre(HasSubstr("GPU 2 in MIG mode without"),
                                           HasSubstr("so GPU 1 without MIG mode is not offered")));
    node.gpus.push_back(a100(3, {}, false));
    offer = offered(with(MigStrategy::kSingle), node);
    EXPECT_THAT(ids(offer), ElementsAre(Pair("nvidia.com/gpu", Ids{"GPU-b", "GPU-d"}),
                                        Pair("nvidia.com/mig-1g.5gb", Ids{"MIG-0a", "MIG-0b"})));
}

TEST(MigOffer, HealthIsOfTheDeviceAndOfItsGpu) {
    auto node = cut_node();
    node.gpus[0].mig_devices[0].health = {gpu::Health::State::kUnhealthy, "Xid 95"};
    auto offer = offered(with(MigStrategy::kMixed), node);
    EXPECT_TRUE(offer.resources[0].devices()[0].healthy);
    EXPECT_FALSE(offer.resources[2].devices()[0].healthy);
    node.gpus[0].health = {gpu::Health::State::kUnhealthy, "Xid 79"};
    offer = offered(with(MigStrategy::kMixed), node);
    for (const Resource& resource : offer.resources) {
        for (const auto& device : resource.devices()) EXPECT_FALSE(device.healthy);
    }
}

TEST(MigOffer, TimeSlicesAProfileWithLimits) {
    const SharedResource entry{.name = "nvidia.com/mig-1g.5gb",
                               .replicas = 2,
                               .rename = "nvidia.com/tiny",
                               .limits = {.memory_bytes = 2 * kGi, .compute_percent = 50}};
    const auto offer = offered(with(MigStrategy::kMixed, {entry}), cut_node());
    ASSERT_THAT(offer.resources, SizeIs(3));
    const Resource& tiny = offer.resources[2];
    EXPECT_EQ(tiny.name, "nvidia.com/tiny");
    EXPECT_TRUE(tiny.shared);
    EXPECT_THAT(ids(offer).at("nvidia.com/tiny"),
                ElementsAre("MIG-z::0", "MIG-z::1", "MIG-w::0", "MIG-w::1"));
    const auto grant = make_grant(tiny, {}, Ids{"MIG-w::1"}, "n");
    ASSERT_TRUE(grant);
    EXPECT_EQ(grant->environment.at("NVIDIA_VISIBLE_DEVICES"), "MIG-w");
    EXPECT_THAT(grant->shares, ElementsAre(grant::Grant::Share{
                                   .gpu_uuid = "MIG-w",
                                   .limits = {.memory_bytes = 2 * kGi, .compute_percent = 50},
                                   .guarded = true}));
}

TEST(MigOffer, SelectsDevicesByIndexUuidCountAndGpu) {
    const auto shared_ids = [](DeviceSelector selector) {
        selector.all = false;
        const auto all = ids(offered(
            with(MigStrategy::kSingle,
                 {{.name = "nvidia.com/gpu", .devices = selector, .rename = "nvidia.com/s"}}),
            small_parts(2)));
        return all.contains("nvidia.com/s") ? all.at("nvidia.com/s") : Ids{};
    };
    EXPECT_THAT(shared_ids({.mig = {"1:0"}}), ElementsAre("MIG-1a::0", "MIG-1a::1"));
    EXPECT_THAT(shared_ids({.mig = {"MIG-0b"}}), ElementsAre("MIG-0b::0", "MIG-0b::1"));
    EXPECT_THAT(shared_ids({.first = 3}), SizeIs(6));
    EXPECT_THAT(shared_ids({.indices = {1}}), SizeIs(4));
    EXPECT_THAT(shared_ids({.uuids = {"GPU-a"}}), SizeIs(4));
    EXPECT_THAT(shared_ids({.models = {"*a100*"}}), SizeIs(8));
    EXPECT_THAT(shared_ids({.mig = {"2:0"}}), IsEmpty());
}

TEST(MigOffer, KeepsTheRestWhenALimitDoesNotFitAnInstance) {
    const SharedResource entry{
        .name = "nvidia.com/mig-1g.5gb", .replicas = 2, .limits = {.memory_bytes = 3 * kGi}};
    const auto offer = offered(with(MigStrategy::kMixed, {entry}), cut_node());
    EXPECT_THAT(ids(offer), SizeIs(2));
    ASSERT_THAT(offer.remarks, SizeIs(2));
    EXPECT_THAT(offer.remarks[0],
                HasSubstr("2 replicas with memory 3Gi do not fit MIG device 0:2 (1g.5gb, 5Gi)"));
}

TEST(MigGrant, PassesTheCapabilitiesOfEachDeviceAndItsGpuOnce) {
    const auto offer = offered(with(MigStrategy::kMixed), cut_node());
    GrantOptions options{.pass_device_specs = true, .control_nodes = {"/dev/nvidiactl"}};
    auto grant = make_grant(offer.resources[0], options, Ids{"MIG-w", "MIG-z"}, "n");
    ASSERT_TRUE(grant);
    EXPECT_EQ(grant->environment.at("NVIDIA_VISIBLE_DEVICES"), "MIG-z,MIG-w");
    Ids paths;
    for (const auto& node : grant->device_nodes) paths.push_back(node.container_path);
    EXPECT_THAT(paths,
                ElementsAre("/dev/nvidiactl", "/dev/nvidia0", "/dev/nvidia-caps/nvidia-cap30",
                            "/dev/nvidia-caps/nvidia-cap31", "/dev/nvidia-caps/nvidia-cap60",
                            "/dev/nvidia-caps/nvidia-cap61"));
    options.id_strategy = DeviceIdStrategy::kIndex;
    grant = make_grant(offer.resources[0], options, Ids{"MIG-w"}, "n");
    ASSERT_TRUE(grant);
    EXPECT_EQ(grant->environment.at("NVIDIA_VISIBLE_DEVICES"), "0:5");
}

TEST(MigPrefer, SpreadsOverGpusOrPacksThem) {
    const auto offer = offered(with(MigStrategy::kSingle), small_parts(2));
    const Resource& resource = offer.resources[0];
    const Ids free{"MIG-0b", "MIG-1a", "MIG-1b"};  // one of GPU 0 is in use
    EXPECT_THAT(prefer(resource, {}, kDistributed, free, {}, 1), ElementsAre("MIG-1a"));
    EXPECT_THAT(prefer(resource, {}, kPacked, free, {}, 1), ElementsAre("MIG-0b"));
    EXPECT_THAT(prefer(resource, {}, kDistributed, free, {}, 2), ElementsAre("MIG-1a", "MIG-0b"));
    EXPECT_THAT(prefer(resource, {}, kPacked, free, {}, 2), ElementsAre("MIG-0b", "MIG-1a"));
    EXPECT_THAT(prefer(resource, {}, kPacked, free, {}, 9), SizeIs(3));
}

TEST(MigPrefer, TakesASecondReplicaOnlyWhenEveryInstanceIsTaken) {
    const auto offer = offered(
        with(MigStrategy::kSingle, {{.name = "nvidia.com/gpu", .replicas = 2}}), small_parts(1));
    const Ids free{"MIG-0a::0", "MIG-0a::1", "MIG-0b::0", "MIG-0b::1"};
    for (const auto policy : {kDistributed, kPacked}) {
        EXPECT_THAT(prefer(offer.resources[0], {}, policy, free, {}, 3),
                    ElementsAre("MIG-0a::0", "MIG-0b::0", "MIG-0a::1"));
    }
}

}  // namespace
}  // namespace aliquot::sharing
