// SPDX-License-Identifier: Apache-2.0
#include "dra/publishable.h"

#include <gmock/gmock.h>

#include <random>

#include "document/json.h"
#include "dra/test_node.h"

namespace aliquot::dra {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::uint64_t kGi = 1ULL << 30U;

/// One GPU of 80 GiB in so many shares of the same size; one share: the whole GPU.
std::vector<Device> shares(unsigned count, std::uint64_t gibibytes, unsigned percent = 0) {
    const gpu::Inventory inventory = test_inventory(1);
    grant::Limits limits{.memory_bytes = gibibytes * kGi};
    if (percent > 0) limits.compute_percent = percent;
    const sharing::Offer offer{
        .resources = {{.gpus = {{.gpu = inventory.gpus[0], .replicas = count, .limits = limits}}}}};
    return devices_of(inventory, offer, {}, Mode::kFixed);
}

claims::Claim claim_for(const std::string& uid, const std::string& device,
                        const std::string& part = "") {
    const auto object = document::parse_json(
        R"({"metadata":{"namespace":"ai","name":")" + uid + R"(","uid":")" + uid +
        R"("},"status":{"reservedFor":[{"resource":"pods","name":"p","uid":"pod-1"}],)"
        R"("allocation":{"devices":{"results":[{"request":"gpu","driver":"gpu.aliquot.dev",)"
        R"("pool":"node-1","device":")" +
        device + "\"" + part + "}]}}}}");
    return claims::read_claim(*object);
}

/// Empty: it is prepared, and kept.
std::string prepare(PreparedClaims& prepared, const std::vector<Device>& devices,
                    const std::string& uid, const std::string& device,
                    const std::string& part = "") {
    auto made = decide_prepare({"ai", uid, uid}, claim_for(uid, device, part),
                               {.devices = devices, .pool = "node-1", .prepared = prepared});
    if (!made) return made.error().message;
    made->state = PreparedClaim::State::kPrepared;
    prepared.insert_or_assign(uid, *std::move(made));
    return {};
}

std::vector<std::string> names(const Publishable& made) {
    std::vector<std::string> all;
    for (const Device& device : made.devices) all.push_back(device.name.substr(16));
    return all;
}

const std::string kGpu = "gpu-0000-65-00-0";
const std::string kPart = R"(,"shareID":"s","consumedCapacity":{"memory":"8Gi","compute":"10"})";

TEST(Publishable, IsEverythingWhereNothingIsInTheWay) {
    PreparedClaims prepared;
    const auto devices = shares(4, 16, 25);
    ASSERT_EQ(prepare(prepared, devices, "a", kGpu + "-share-2"), "");
    const auto made = publishable(devices, prepared);
    EXPECT_EQ(made.devices.size(), 4U) << "what a claim holds stays, kube-scheduler knows of it";
    EXPECT_THAT(made.held_back, IsEmpty());
}

TEST(Publishable, IsNoShareThatDoesNotFitBesideThoseOfAnEarlierConfiguration) {
    PreparedClaims prepared;
    const auto before = shares(4, 19);
    for (const char* const number : {"2", "3"}) {
        ASSERT_EQ(prepare(prepared, before, number, kGpu + "-share-" + number), "");
    }
    const auto devices = shares(2, 38);
    const auto made = publishable(devices, prepared);
    EXPECT_THAT(names(made), ElementsAre("-share-0"));
    EXPECT_THAT(made.held_back.at(kGpu + "-share-1"),
                HasSubstr("with it 116736Mi of 81559Mi would be given away"));
    ASSERT_EQ(prepare(prepared, devices, "new", kGpu + "-share-0"), "");
    EXPECT_THAT(prepare(prepared, devices, "more", kGpu + "-share-1"), HasSubstr("would be given"));
    prepared.erase("2");
    prepared.erase("3");
    EXPECT_EQ(publishable(devices, prepared).devices.size(), 2U) << "once they have ended";
}

TEST(Publishable, CountsAShareAsWhatItsNextClaimMayHave) {
    PreparedClaims prepared;
    const auto before = shares(4, 10);
    for (const char* const number : {"0", "3"}) {
        ASSERT_EQ(prepare(prepared, before, number, kGpu + "-share-" + number), "");
    }
    // 10Gi of share-0 may be 38Gi a moment later, when kube-scheduler has seen that its claim ended.
    EXPECT_THAT(names(publishable(shares(2, 38), prepared)), ElementsAre("-share-0"));
}

TEST(Publishable, IsNoGpuThatClaimsOfAnotherModeHold) {
    PreparedClaims prepared;
    const gpu::Inventory inventory = test_inventory(2);
    const auto consumable = devices_of(inventory, {}, {}, Mode::kConsumable);
    const auto whole = devices_of(inventory, {}, {}, Mode::kWhole);
    ASSERT_EQ(prepare(prepared, shares(4, 16), "a", kGpu + "-share-1"), "");
    for (const auto& devices : {consumable, whole}) {
        const auto made = publishable(devices, prepared);
        ASSERT_EQ(made.devices.size(), 1U) << "the other GPU";
        EXPECT_EQ(made.held_back.at(kGpu), "is held in part by claim ai/a");
    }
    prepared.clear();
    ASSERT_EQ(prepare(prepared, consumable, "part", kGpu, kPart), "");
    EXPECT_EQ(publishable(consumable, prepared).devices.size(), 2U);
    EXPECT_EQ(publishable(whole, prepared).held_back.at(kGpu), "is held in part by claim ai/part");
    prepared.clear();
    ASSERT_EQ(prepare(prepared, whole, "all", kGpu), "");
    EXPECT_EQ(publishable(whole, prepared).devices.size(), 2U);
    EXPECT_EQ(publishable(consumable, prepared).devices.size(), 2U)
        << "kube-scheduler gives nothing of a device that a claim has without a share";
    EXPECT_THAT(publishable(shares(4, 16), prepared).devices, IsEmpty());
}

TEST(Publishable, IsNothingNewWhileAClaimMayHoldAnything) {
    PreparedClaims prepared;
    const auto devices = shares(2, 38);
    ASSERT_EQ(prepare(prepared, devices, "a", kGpu + "-share-1"), "");
    prepared.emplace("u9",
                     PreparedClaim{.claim = {.uid = "u9"}, .state = PreparedClaim::State::kLost});
    const auto made = publishable(devices, prepared);
    EXPECT_THAT(names(made), ElementsAre("-share-1"));
    EXPECT_THAT(made.held_back.at(kGpu + "-share-0"), HasSubstr("u9.claim.bad"));
}

/// Whatever is published and not held can be prepared, all of it, in any order.
TEST(Publishable, IsWhatCanBePrepared) {
    std::mt19937 random(20261128);
    const auto pick = [&](unsigned below) { return static_cast<unsigned>(random() % below); };
    for (int round = 0; round < 300; ++round) {
        PreparedClaims prepared;
        for (unsigned earlier = 0; earlier < 2; ++earlier) {
            const auto before = shares(2 + pick(4), 4 + pick(12), pick(20));
            for (const Device& device : before) {
                if (pick(2) != 0) continue;
                const std::string uid = std::to_string(earlier) + device.name;
                (void)prepare(prepared, before, uid, device.name);
            }
        }
        const auto devices = shares(1 + pick(5), 4 + pick(12), pick(20));
        auto made = publishable(devices, prepared);
        std::ranges::shuffle(made.devices, random);
        for (const Device& device : made.devices) {
            const bool held = std::ranges::any_of(prepared, [&](const auto& one) {
                return std::ranges::any_of(one.second.devices, [&](const PreparedDevice& has) {
                    return has.device == device.name;
                });
            });
            if (held) continue;
            EXPECT_EQ(prepare(prepared, devices, "new-" + device.name, device.name), "");
        }
    }
}

}  // namespace
}  // namespace aliquot::dra
