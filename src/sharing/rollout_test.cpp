// SPDX-License-Identifier: Apache-2.0
#include "sharing/rollout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace aliquot::sharing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::uint64_t kGi = 1ULL << 30U;
constexpr char kGpu[] = "nvidia.com/gpu";

gpu::Uuid uuid_of(unsigned index) {
    return {"GPU-" + std::string(1, static_cast<char>('a' + index))};
}

gpu::Inventory node(unsigned gpus) {
    gpu::Inventory inventory;
    for (unsigned i = 0; i < gpus; ++i) {
        inventory.gpus.push_back({.index = i,
                                  .uuid = uuid_of(i),
                                  .minor = i,
                                  .model = "NVIDIA H100 80GB HBM3",
                                  .memory_bytes = 80 * kGi,
                                  .compute_major = 9});
    }
    return inventory;
}

Config shares(unsigned replicas, std::uint64_t memory = 0) {
    Config config;
    config.sharing.mechanism = grant::Mechanism::kTimeSlicing;
    SharedResource entry{.name = kGpu, .replicas = replicas};
    if (memory > 0) entry.limits.memory_bytes = memory * kGi;
    config.sharing.resources = {entry};
    return config;
}

Offer offer_of(const Config& config, const gpu::Inventory& inventory) {
    auto offer = make_offer(config, inventory);
    EXPECT_TRUE(offer) << offer.error().message;
    return offer ? *std::move(offer) : Offer{};
}

std::vector<std::string> ids_of(const Offer& offer, const std::string& resource = kGpu) {
    std::vector<std::string> ids;
    for (const Resource& one : offer.resources) {
        if (one.name != resource) continue;
        for (const auto& device : one.devices()) {
            ids.push_back(device.id + (device.healthy ? "" : "!"));
        }
    }
    return ids;
}

/// One round from one configuration to another.
Rollout change(const Config& from, const Config& to, const gpu::Inventory& inventory,
               RolloutFacts facts) {
    facts.served = served_by(offer_of(from, inventory));
    return roll_out(offer_of(to, inventory), inventory, facts);
}

TEST(Rollout, AFirstConfigurationIsServedAtOnce) {
    const auto inventory = node(2);
    const auto round = roll_out(offer_of(shares(2), inventory), inventory, {});
    EXPECT_TRUE(round.is_settled());
    EXPECT_THAT(round.switched, IsEmpty());
    EXPECT_THAT(ids_of(round.offer), ElementsAre("GPU-a::0", "GPU-a::1", "GPU-b::0", "GPU-b::1"));
    EXPECT_THAT(round.served, SizeIs(2));
}

TEST(Rollout, AHeldGpuKeepsItsSharesWhileAnIdleOneChanges) {
    const auto inventory = node(2);
    const RolloutFacts facts{.holds = {{kGpu, "GPU-a::1", "ai/a"}}, .withdrawn = {uuid_of(1)}};
    const auto round = change(shares(4, 16), Config{}, inventory, facts);
    EXPECT_THAT(ids_of(round.offer), ElementsAre("GPU-a::1", "GPU-b"));
    EXPECT_THAT(round.switched, ElementsAre(uuid_of(1)));
    ASSERT_THAT(round.waiting, SizeIs(1));
    EXPECT_EQ(to_text(round.waiting[0]),
              "GPU 0 stays nvidia.com/gpu, 4 shares of 16Gi, until ai/a ends");
    EXPECT_EQ(round.offer.remarks, std::vector{to_text(round.waiting[0])});
    EXPECT_EQ(round.served.at(uuid_of(0)).device.limits.memory_bytes, 16 * kGi);
}

TEST(Rollout, WhatIsJustEndingIsNotGivenToTheNextPod) {
    const auto inventory = node(1);
    const RolloutFacts facts{
        .holds = {{kGpu, "GPU-a::1", "ai/a"},
                  {.resource = kGpu, .id = "GPU-a::2", .pod = "ai/b", .ending = true}},
        .withdrawn = {uuid_of(0)}};
    const auto round = change(shares(4), Config{}, inventory, facts);
    EXPECT_THAT(ids_of(round.offer), ElementsAre("GPU-a::1"));
    EXPECT_THAT(round.waiting.at(0).pods, ElementsAre("ai/a", "ai/b"));
    EXPECT_THAT(round.switched, IsEmpty());
}

TEST(Rollout, AGpuThatIsHeldWholeGetsNoShares) {
    const auto inventory = node(2);
    const RolloutFacts facts{.holds = {{kGpu, "GPU-a", "ai/a"}}, .withdrawn = {uuid_of(1)}};
    const auto round = change(Config{}, shares(6, 12), inventory, facts);
    EXPECT_THAT(ids_of(round.offer), ElementsAre("GPU-a", "GPU-b::0", "GPU-b::1", "GPU-b::2",
                                                 "GPU-b::3", "GPU-b::4", "GPU-b::5"));
}

TEST(Rollout, AnIdleGpuChangesWhenKubeletGivesNothingOfItAwayAnyMore) {
    const auto inventory = node(1);
    const auto first = change(shares(4), Config{}, inventory, {});
    EXPECT_THAT(ids_of(first.offer), IsEmpty());
    EXPECT_THAT(first.closing, ElementsAre(uuid_of(0)));
    EXPECT_THAT(first.waiting, IsEmpty());
    EXPECT_EQ(first.served.at(uuid_of(0)).device.replicas, 4U);
    const auto second = roll_out(offer_of({}, inventory), inventory,
                                 {.served = first.served, .withdrawn = {uuid_of(0)}});
    EXPECT_THAT(ids_of(second.offer), ElementsAre("GPU-a"));
    EXPECT_TRUE(second.is_settled());
}

TEST(Rollout, MoreSharesDoNotComeBesideSharesThatAreHeld) {
    const auto inventory = node(1);
    const RolloutFacts facts{.holds = {{kGpu, "GPU-a::0", "a/a"}, {kGpu, "GPU-a::3", "a/b"}},
                             .withdrawn = {uuid_of(0)}};
    const auto round = change(shares(4, 20), shares(6, 13), inventory, facts);
    EXPECT_THAT(ids_of(round.offer), ElementsAre("GPU-a::0", "GPU-a::3"));
    EXPECT_EQ(round.served.at(uuid_of(0)).device.limits.memory_bytes, 20 * kGi);
    EXPECT_THAT(round.waiting[0].pods, ElementsAre("a/a", "a/b"));
}

TEST(Rollout, AnotherAmountOfTheSameLimitHoldsAtOnceForHoldersToo) {
    const auto inventory = node(1);
    const RolloutFacts facts{.holds = {{kGpu, "GPU-a::0", "a/a"}}};
    const auto round = change(shares(4, 16), shares(4, 20), inventory, facts);
    EXPECT_TRUE(round.is_settled());
    EXPECT_THAT(ids_of(round.offer), SizeIs(4));
    EXPECT_EQ(round.served.at(uuid_of(0)).device.limits.memory_bytes, 20 * kGi);
}

TEST(Rollout, ALimitIsNeitherLiftedNorInventedForThoseWhoRun) {
    const auto inventory = node(1);
    const RolloutFacts facts{.holds = {{kGpu, "GPU-a::0", "a/a"}}};
    const auto lifted = change(shares(4, 16), shares(4), inventory, facts);
    EXPECT_THAT(ids_of(lifted.offer), ElementsAre("GPU-a::0"));
    EXPECT_EQ(lifted.served.at(uuid_of(0)).device.limits.memory_bytes, 16 * kGi);
    const auto invented = change(shares(4), shares(4, 16), inventory, facts);
    EXPECT_THAT(ids_of(invented.offer), ElementsAre("GPU-a::0"));
    EXPECT_FALSE(invented.served.at(uuid_of(0)).device.limits.memory_bytes);
}

TEST(Rollout, ARenamedResourceWaitsForThoseWhoHoldTheOldOne) {
    const auto inventory = node(2);
    Config renamed = shares(4);
    renamed.sharing.resources[0].rename = "nvidia.com/gpu.shared";
    const RolloutFacts facts{.holds = {{kGpu, "GPU-a::2", "a/a"}}, .withdrawn = {uuid_of(1)}};
    const auto round = change(shares(4), renamed, inventory, facts);
    EXPECT_THAT(ids_of(round.offer), ElementsAre("GPU-a::2"));
    EXPECT_THAT(ids_of(round.offer, "nvidia.com/gpu.shared"), SizeIs(4));
}

TEST(Rollout, MpsGoesOnForItsClientsWithItsLimits) {
    const auto inventory = node(1);
    Config mps = shares(4);
    mps.sharing.mechanism = grant::Mechanism::kMps;
    const RolloutFacts facts{.holds = {{kGpu, "GPU-a::2", "a/a"}}};
    Config smaller = mps;
    smaller.sharing.resources[0].limits.memory_bytes = 10 * kGi;
    for (const Config& to : {shares(4), Config{}, smaller}) {
        const auto round = change(mps, to, inventory, facts);
        ASSERT_THAT(ids_of(round.offer), ElementsAre("GPU-a::2"));
        EXPECT_TRUE(round.offer.resources[0].gpus[0].by_mps());
        EXPECT_EQ(round.offer.resources[0].gpus[0].limits.memory_bytes, 20 * kGi);
    }
}

TEST(Rollout, NothingChangesWhileKubeletDoesNotSayWhoHolds) {
    const auto inventory = node(2);
    const RolloutFacts facts{.holds_problem = "kubelet does not answer",
                             .withdrawn = {uuid_of(0), uuid_of(1)}};
    const auto round = change(shares(2), Config{}, inventory, facts);
    EXPECT_THAT(ids_of(round.offer), SizeIs(4));
    EXPECT_THAT(round.switched, IsEmpty());
    EXPECT_THAT(to_text(round.waiting[0]), HasSubstr("since kubelet does not answer"));
    const auto fresh = roll_out(offer_of(Config{}, inventory), inventory, facts);
    EXPECT_THAT(ids_of(fresh.offer), IsEmpty());
}

TEST(Rollout, NothingChangesThatCannotBeRecorded) {
    const auto inventory = node(1);
    const RolloutFacts facts{.record_problem = "no space left", .withdrawn = {uuid_of(0)}};
    for (const Config& to : {Config{}, shares(2, 30), shares(3)}) {
        const auto round = change(shares(2, 40), to, inventory, facts);
        EXPECT_THAT(ids_of(round.offer), ElementsAre("GPU-a::0", "GPU-a::1"));
        EXPECT_EQ(round.served.at(uuid_of(0)).device.limits.memory_bytes, 40 * kGi);
        EXPECT_THAT(to_text(round.waiting.at(0)), HasSubstr("no space left"));
    }
    EXPECT_TRUE(change(shares(2, 40), shares(2, 40), inventory, facts).is_settled());
    // What was not served before: whole GPUs speak for themselves, shares do not.
    EXPECT_THAT(ids_of(roll_out(offer_of({}, inventory), inventory, facts).offer),
                ElementsAre("GPU-a"));
    EXPECT_THAT(ids_of(roll_out(offer_of(shares(2), inventory), inventory, facts).offer),
                IsEmpty());
}

TEST(Rollout, WhatIsHeldByAPromiseThatNobodyKnowsIsNotGrantedAgain) {
    const auto inventory = node(2);
    // A share of a configuration of which no record is left, and the GPU is to be whole.
    const RolloutFacts facts{.holds = {{kGpu, "GPU-a::5", "a/a"}}};
    const auto round = roll_out(offer_of({}, inventory), inventory, facts);
    EXPECT_THAT(ids_of(round.offer), ElementsAre("GPU-a::5!", "GPU-b"));
    EXPECT_THAT(round.served, SizeIs(1));
    const std::vector<std::string> ids{"GPU-a::5"};
    const auto grant = make_grant(round.offer.resources[0], {}, ids, "n");
    ASSERT_FALSE(grant);
    EXPECT_THAT(grant.error().message, HasSubstr("not known any more"));
    EXPECT_THAT(to_text(round.waiting.at(0)), "GPU 0 is not offered until a/a ends");
}

TEST(Rollout, IdsThatFitAreTakenForOursUnlessARecordWasLost) {
    const auto inventory = node(1);
    RolloutFacts facts{.holds = {{kGpu, "GPU-a::1", "a/a"}}};
    EXPECT_THAT(ids_of(roll_out(offer_of(shares(2), inventory), inventory, facts).offer),
                SizeIs(2));
    facts.records_lost = true;
    EXPECT_THAT(ids_of(roll_out(offer_of(shares(2), inventory), inventory, facts).offer),
                ElementsAre("GPU-a::1!"));
}

TEST(Rollout, WhatAnotherPluginHasGivenAwayStandsInTheWayThoughNothingOfOursChanges) {
    const auto inventory = node(1);
    const RolloutFacts facts{
        .holds = {{"nvidia.com/gpu.shared", "GPU-a::1", "a/a"}, {kGpu, "GPU-a::0", "a/b"}}};
    const auto round = change(shares(2), shares(2), inventory, facts);
    EXPECT_THAT(ids_of(round.offer), ElementsAre("GPU-a::0"));
    EXPECT_THAT(ids_of(round.offer, "nvidia.com/gpu.shared"), ElementsAre("GPU-a::1!"));
}

gpu::Inventory cut(gpu::Inventory inventory, unsigned devices) {
    inventory.gpus[0].mig_capable = true;
    inventory.gpus[0].mig_enabled = true;
    for (unsigned i = 0; i < devices; ++i) {
        inventory.gpus[0].mig_devices.push_back({.uuid = {"MIG-" + std::to_string(i)},
                                                 .index = i,
                                                 .profile = "1g.10gb",
                                                 .memory_bytes = 10 * kGi});
    }
    return inventory;
}

Config mixed() {
    Config config;
    config.flags.mig_strategy = MigStrategy::kMixed;
    return config;
}

TEST(Rollout, AGpuAndItsMigDevicesAreNeverOfferedTogether) {
    const auto inventory = cut(node(1), 2);
    RolloutFacts facts{.served = served_by(offer_of(mixed(), inventory)),
                       .holds = {{"nvidia.com/mig-1g.10gb", "MIG-1", "a/a"}}};
    const Offer whole = offer_of(Config{}, inventory);  // migStrategy none
    auto round = roll_out(whole, inventory, facts);
    EXPECT_THAT(ids_of(round.offer), IsEmpty());
    EXPECT_THAT(ids_of(round.offer, "nvidia.com/mig-1g.10gb"), ElementsAre("MIG-1"));
    facts.holds.clear();
    facts.withdrawn = {{"MIG-0"}, {"MIG-1"}};
    round = roll_out(whole, inventory, facts);
    EXPECT_THAT(ids_of(round.offer), ElementsAre("GPU-a"));
    EXPECT_THAT(round.offer.resources, SizeIs(1));
}

TEST(Rollout, AGpuThatWasCutUnderItsHolderIsNotGivenToOthersAsMigDevices) {
    const auto before = node(1);
    const auto now = cut(before, 2);
    RolloutFacts facts{.served = served_by(offer_of(mixed(), before)),
                       .holds = {{kGpu, "GPU-a", "a/a"}}};
    const auto round = roll_out(offer_of(mixed(), now), now, facts);
    EXPECT_THAT(ids_of(round.offer), ElementsAre("GPU-a!"));
    EXPECT_THAT(ids_of(round.offer, "nvidia.com/mig-1g.10gb"), IsEmpty());
    EXPECT_THAT(round.waiting, SizeIs(3));
}

TEST(Rollout, ADestroyedMigDeviceIsListedAsUnhealthyUntilItsHolderHasGone) {
    const auto before = cut(node(1), 2);
    auto now = cut(node(1), 1);
    now.gpus[0].mig_devices.push_back({.uuid = {"MIG-new"}, .index = 5, .profile = "1g.10gb"});
    RolloutFacts facts{.served = served_by(offer_of(mixed(), before)),
                       .holds = {{"nvidia.com/mig-1g.10gb", "MIG-1", "a/a"}}};
    auto round = roll_out(offer_of(mixed(), now), now, facts);
    EXPECT_THAT(ids_of(round.offer, "nvidia.com/mig-1g.10gb"),
                ElementsAre("MIG-0", "MIG-1!", "MIG-new"));
    EXPECT_THAT(to_text(round.waiting.at(0)), HasSubstr("the MIG device was destroyed"));
    facts.holds.clear();
    round = roll_out(offer_of(mixed(), now), now, facts);
    EXPECT_THAT(ids_of(round.offer, "nvidia.com/mig-1g.10gb"), ElementsAre("MIG-0", "MIG-new"));
    EXPECT_TRUE(round.is_settled());
}

TEST(Rollout, AGpuThatTheDriverHasLostStaysListedForItsHolder) {
    const auto inventory = node(2);
    gpu::Inventory less = inventory;
    less.gpus.pop_back();
    RolloutFacts facts{.served = served_by(offer_of(shares(2), inventory)),
                       .holds = {{kGpu, "GPU-b::1", "a/a"}}};
    const auto round = roll_out(offer_of(shares(2), less), less, facts);
    EXPECT_THAT(ids_of(round.offer), ElementsAre("GPU-a::0", "GPU-a::1", "GPU-b::1!"));
}

TEST(Rollout, WithoutAConfigurationEverythingIsServedAsItWas) {
    const auto inventory = node(3);
    const auto served = served_by(offer_of(shares(4, 16), node(2)));
    const Offer offer = as_served(served, inventory);
    EXPECT_THAT(ids_of(offer), SizeIs(8));
    EXPECT_TRUE(is_same_service(served, served_by(offer)));
    const auto round = roll_out(offer, inventory, {.served = served});
    EXPECT_TRUE(round.is_settled());
}

TEST(Rollout, WhatIsListedAtDrainingDevicesIsPreferredLast) {
    const auto inventory = node(2);
    const RolloutFacts facts{.holds = {{kGpu, "GPU-a::0", "a/a"}}, .withdrawn = {uuid_of(1)}};
    const auto round = change(shares(4), shares(2), inventory, facts);
    const std::vector<std::string> free{"GPU-a::0", "GPU-b::0", "GPU-b::1"};
    for (const auto policy : {AllocationPolicy::kPacked, AllocationPolicy::kDistributed}) {
        EXPECT_THAT(prefer(round.offer.resources[0], {}, policy, free, {}, 2),
                    ElementsAre("GPU-b::0", "GPU-b::1"));
        EXPECT_THAT(prefer(round.offer.resources[0], {}, policy, free, {}, 3), SizeIs(3));
    }
}

}  // namespace
}  // namespace aliquot::sharing
