// SPDX-License-Identifier: Apache-2.0
#include "dra/prepare.h"

#include <gtest/gtest.h>

#include <random>

#include "document/json.h"
#include "dra/test_node.h"

namespace aliquot::dra {
namespace {

const ClaimName kAsked{"ai", "gpu", "u1"};

/// A claim with these results and configurations, as JSON.
claims::Claim claim_of(const std::string& results, const std::string& uid = "u1",
                       const std::string& config = "[]") {
    const auto object = document::parse_json(
        R"({"metadata":{"namespace":"ai","name":"gpu","uid":")" + uid +
        R"("},"status":{"reservedFor":[{"resource":"pods","name":"p","uid":"pod-1"}],)"
        R"("allocation":{"devices":{"results":[)" +
        results + R"(],"config":)" + config + "}}}}");
    EXPECT_TRUE(object) << object.error().message;
    return claims::read_claim(*object);
}

std::string result(const std::string& device, const std::string& more = "",
                   const std::string& request = "gpu") {
    return R"({"request":")" + request +
           R"(","driver":"gpu.aliquot.dev","pool":"node-1","device":")" + device + "\"" + more +
           "}";
}

std::string part(const std::string& memory, const std::string& compute) {
    return R"(,"shareID":"s-1","consumedCapacity":{"memory":")" + memory + R"(","compute":")" +
           compute + "\"}";
}

class DraPrepare : public ::testing::Test {
protected:
    void publish(Mode mode, unsigned gpus = 1) {
        devices = devices_of(test_inventory(gpus), offer, {}, mode);
    }
    Result<PreparedClaim> decide(const claims::Claim& claim) const {
        return decide_prepare({"ai", "gpu", claim.uid}, claim,
                              {.devices = devices, .pool = "node-1", .prepared = prepared});
    }
    std::string error_of(const claims::Claim& claim) const {
        const auto made = decide(claim);
        return made ? "" : made.error().message;
    }
    void hold(const claims::Claim& claim) {
        const auto made = decide(claim);
        ASSERT_TRUE(made) << made.error().message;
        prepared.insert_or_assign(claim.uid, *made);
    }
    sharing::Offer offer;
    std::vector<Device> devices;
    PreparedClaims prepared;
};

TEST_F(DraPrepare, HoldsAClaimToWhatWasBooked) {
    publish(Mode::kConsumable);
    const auto made = decide(claim_of(result("gpu-0000-65-00-0", part("3Gi", "25"))));
    ASSERT_TRUE(made) << made.error().message;
    ASSERT_EQ(made->devices.size(), 1U);
    const PreparedDevice& device = made->devices[0];
    EXPECT_EQ(device.limits.memory_bytes, 3ULL << 30U);
    EXPECT_EQ(device.limits.compute_percent, 25U);
    EXPECT_EQ(device.limits.weight, 25U);
    EXPECT_EQ(device.share, "s-1");
    EXPECT_EQ(device.cdi_name, "u1-0.part.GPU-0");
    EXPECT_EQ(device_id_of(device.cdi_name), "GPU-0::0");
    EXPECT_EQ(device_id_of("u-1-2.all.MIG-17c4"), "MIG-17c4");
    EXPECT_EQ(device_id_of("u-1"), "");
    EXPECT_EQ(made->pods, std::vector<std::string>{"pod-1"});
    EXPECT_FALSE(device.whole);
}

TEST_F(DraPrepare, HoldsAClaimWithoutASizeToNothing) {
    publish(Mode::kConsumable);
    const auto made = decide(claim_of(result("gpu-0000-65-00-0", part("81408Mi", "100"))));
    ASSERT_TRUE(made);
    EXPECT_TRUE(made->devices[0].whole);
    EXPECT_FALSE(made->limited());
}

TEST_F(DraPrepare, PromisesNothingForNoCompute) {
    publish(Mode::kConsumable);
    const auto made = decide(claim_of(result("gpu-0000-65-00-0", part("1Gi", "0"))));
    EXPECT_FALSE(made->devices[0].limits.compute_percent);
    EXPECT_EQ(made->devices[0].limits.weight, 1U);
}

TEST_F(DraPrepare, RefusesWhatIsNotAsKubeletSays) {
    publish(Mode::kWhole);
    EXPECT_EQ(decide_prepare(kAsked, claim_of(result("gpu-0000-65-00-0"), "u2"),
                             {.devices = devices, .pool = "node-1", .prepared = prepared})
                  .error()
                  .message,
              "claim ai/gpu: replaced: its uid is u2, u1 was asked for");
    claims::Claim unallocated = claim_of(result("gpu-0000-65-00-0"));
    unallocated.allocation.reset();
    EXPECT_EQ(error_of(unallocated), "claim ai/gpu: is not allocated");
    EXPECT_EQ(error_of(claim_of(result("gpu-9"))),
              "claim ai/gpu: this node has no device node-1/gpu-9");
    EXPECT_EQ(error_of(claim_of(
                  R"({"request":"gpu","driver":"other.example","pool":"node-1","device":"x"})")),
              "claim ai/gpu: none of its devices is of gpu.aliquot.dev");
}

TEST_F(DraPrepare, TakesItsOwnDevicesOfTwoDrivers) {
    publish(Mode::kWhole);
    const auto made = decide(
        claim_of(R"({"request":"nic","driver":"other.example","pool":"node-1","device":"x"},)" +
                 result("gpu-0000-65-00-0")));
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_EQ(made->devices.size(), 1U);
}

TEST_F(DraPrepare, RefusesMoreThanThereIs) {
    publish(Mode::kConsumable);
    hold(claim_of(result("gpu-0000-65-00-0", part("60Gi", "60")), "u1"));
    EXPECT_EQ(error_of(claim_of(result("gpu-0000-65-00-0", part("20Gi", "10")), "u2")),
              "claim ai/gpu: gpu-0000-65-00-0: with it 81920Mi of 81408Mi would be given away");
    EXPECT_EQ(error_of(claim_of(result("gpu-0000-65-00-0", part("1Gi", "50")), "u2")),
              "claim ai/gpu: gpu-0000-65-00-0: with it 110 of 100 percent of its time would be "
              "given away");
    EXPECT_EQ(error_of(claim_of(result("gpu-0000-65-00-0", part("81408Mi", "100")), "u2")),
              "claim ai/gpu: gpu-0000-65-00-0 is held in part by claim ai/gpu");
    EXPECT_TRUE(decide(claim_of(result("gpu-0000-65-00-0", part("19Gi", "40")), "u2")));
    EXPECT_TRUE(decide(claim_of(result("gpu-0000-65-00-0", part("60Gi", "60")), "u1")))
        << "a claim is not in its own way";
}

TEST_F(DraPrepare, RefusesASecondExclusiveClaim) {
    publish(Mode::kWhole);
    hold(claim_of(result("gpu-0000-65-00-0"), "u1"));
    EXPECT_EQ(error_of(claim_of(result("gpu-0000-65-00-0"), "u2")),
              "claim ai/gpu: gpu-0000-65-00-0 is held whole by claim ai/gpu");
    // The mode has changed since: the GPU is still taken.
    publish(Mode::kConsumable);
    EXPECT_EQ(error_of(claim_of(result("gpu-0000-65-00-0", part("1Gi", "1")), "u2")),
              "claim ai/gpu: gpu-0000-65-00-0 is held whole by claim ai/gpu");
}

TEST_F(DraPrepare, SumsUpWithinOneClaim) {
    publish(Mode::kConsumable);
    const auto two = [](const std::string& memory) {
        return claim_of(result("gpu-0000-65-00-0", part(memory, "50"), "a") + "," +
                        result("gpu-0000-65-00-0", part(memory, "50"), "b"));
    };
    const auto made = decide(two("30Gi"));
    ASSERT_TRUE(made) << made.error().message;
    const auto shares = shares_of(*made);
    ASSERT_EQ(shares.size(), 1U);
    EXPECT_EQ(shares[0].limits.memory_bytes, 60ULL << 30U);
    EXPECT_FALSE(decide(two("50Gi")));
}

TEST_F(DraPrepare, LetsAdminAccessSeeAGpuThatIsHeld) {
    publish(Mode::kWhole);
    hold(claim_of(result("gpu-0000-65-00-0"), "u1"));
    const auto made = decide(claim_of(result("gpu-0000-65-00-0", R"(,"adminAccess":true)"), "u2"));
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_FALSE(made->limited());
    prepared.clear();
    prepared.insert_or_assign("u2", *made);
    EXPECT_TRUE(decide(claim_of(result("gpu-0000-65-00-0"), "u3"))) << "it holds nothing";
}

TEST_F(DraPrepare, StripsTheNameOfAnAlternative) {
    publish(Mode::kWhole);
    const auto made = decide(claim_of(result("gpu-0000-65-00-0", "", "gpu/large")));
    EXPECT_EQ(made->devices[0].request, "gpu");
}

TEST_F(DraPrepare, TakesFixedSharesOnce) {
    offer.resources = {{.name = "nvidia.com/gpu",
                        .gpus = {{.gpu = test_inventory(1).gpus[0],
                                  .replicas = 2,
                                  .limits = {.memory_bytes = 30ULL << 30U}}}}};
    publish(Mode::kFixed);
    hold(claim_of(result("gpu-0000-65-00-0-share-0"), "u1"));
    EXPECT_EQ(prepared.at("u1").devices[0].limits.memory_bytes, 30ULL << 30U);
    EXPECT_EQ(error_of(claim_of(result("gpu-0000-65-00-0-share-0"), "u2")),
              "claim ai/gpu: gpu-0000-65-00-0-share-0 is held by claim ai/gpu");
    EXPECT_TRUE(decide(claim_of(result("gpu-0000-65-00-0-share-1"), "u2")));
}

std::string config(const std::string& source, const std::string& guard,
                   const std::string& requests = "[]", const std::string& kind = "GpuConfig") {
    return R"({"source":")" + source + R"(","requests":)" + requests +
           R"(,"opaque":{"driver":"gpu.aliquot.dev","parameters":{"apiVersion":)"
           R"("resource.aliquot.dev/v1beta1","kind":")" +
           kind + R"(","guard":)" + guard + "}}}";
}

TEST_F(DraPrepare, TakesTheLastConfigurationThatApplies) {
    publish(Mode::kWhole);
    const std::string one = result("gpu-0000-65-00-0");
    const auto limit = [&](const std::string& configs) {
        const auto made = decide(claim_of(one, "u1", "[" + configs + "]"));
        EXPECT_TRUE(made) << (made ? "" : made.error().message);
        return made ? made->devices[0].limits : grant::Limits{};
    };
    const std::string of_class = config("FromClass", R"({"memory":"8Gi"})");
    EXPECT_EQ(limit(of_class).memory_bytes, 8ULL << 30U);
    EXPECT_EQ(limit(of_class + "," + config("FromClaim", R"({"weight":7})")),
              (grant::Limits{.weight = 7}));
    EXPECT_EQ(
        limit(of_class + "," + config("FromClaim", R"({"weight":7})", R"(["other"])")).memory_bytes,
        8ULL << 30U);
    EXPECT_EQ(limit(config("FromClass", R"({"weight":7})", "[]", "MigDeviceConfig")),
              grant::Limits{});
    EXPECT_EQ(
        error_of(claim_of(one, "u1",
                          "[" + config("FromClaim", "{}", R"(["gpu"])", "MigDeviceConfig") + "]")),
        "claim ai/gpu: MigDeviceConfig: request gpu got gpu-0000-65-00-0, which is no MIG device");
}

TEST_F(DraPrepare, TakesNoSizeFromTheConfigurationOfAPart) {
    publish(Mode::kConsumable);
    const std::string one = result("gpu-0000-65-00-0", part("3Gi", "25"));
    EXPECT_EQ(error_of(claim_of(one, "u1", "[" + config("FromClaim", R"({"memory":"9Gi"})") + "]")),
              "claim ai/gpu: GpuConfig: guard: the size of its part of gpu-0000-65-00-0 is what "
              "capacity.requests booked; only weight may be given");
    const auto made =
        decide(claim_of(one, "u1", "[" + config("FromClaim", R"({"weight":9})") + "]"));
    EXPECT_EQ(made->devices[0].limits.weight, 9U);
}

// Else everybody would write 10000, and what was booked would mean nothing.
TEST_F(DraPrepare, RaisesNoWeightAboveWhatWasBooked) {
    const auto weight = [&](const std::string& one, const std::string& configs) {
        const auto made = decide(claim_of(one, "u1", "[" + configs + "]"));
        EXPECT_TRUE(made) << (made ? "" : made.error().message);
        return made ? made->devices[0].limits.weight : std::nullopt;
    };
    const std::string by_class = config("FromClass", R"({"weight":200})");
    const auto by_claim = [](unsigned wanted) {
        return config("FromClaim", R"({"weight":)" + std::to_string(wanted) + "}");
    };
    publish(Mode::kConsumable);
    const std::string quarter = result("gpu-0000-65-00-0", part("3Gi", "25"));
    EXPECT_EQ(weight(quarter, by_claim(10'000)), 25U);
    EXPECT_EQ(weight(quarter, by_claim(7)), 7U);
    EXPECT_EQ(weight(result("gpu-0000-65-00-0", part("3Gi", "0")), by_claim(10'000)), 1U);
    // Who administers classes may give more, or less.
    EXPECT_EQ(weight(quarter, by_class), 200U);
    EXPECT_EQ(weight(quarter, by_class + "," + by_claim(500)), 200U);
    EXPECT_EQ(weight(quarter, by_class + "," + by_claim(100)), 100U);
    EXPECT_EQ(weight(quarter, config("FromClass", R"({"weight":5})") + "," + by_claim(25)), 5U);

    const auto share = [&](const grant::Limits& limits) {
        offer.resources = {
            {.name = "nvidia.com/gpu",
             .gpus = {{.gpu = test_inventory(1).gpus[0], .replicas = 2, .limits = limits}}}};
        publish(Mode::kFixed);
        return result("gpu-0000-65-00-0-share-0");
    };
    EXPECT_EQ(weight(share({.compute_percent = 50, .weight = 30}), by_claim(10'000)), 30U);
    EXPECT_EQ(weight(share({.compute_percent = 50}), by_claim(10'000)), 50U);
    EXPECT_EQ(weight(share({.memory_bytes = 1ULL << 30U}), by_claim(10'000)), 1U);
    EXPECT_EQ(weight(share({.weight = 30}), by_class), 200U);
}

// A claim keeps what it was given when the configuration is another one: the shares of both are of one GPU.
TEST_F(DraPrepare, GivesAwayNoMoreThanTheGpuHasWhateverTheConfigurationBecomes) {
    std::mt19937 random(11);
    const gpu::Gpu gpu = test_inventory(1).gpus[0];
    unsigned given = 0;
    unsigned refused = 0;
    for (unsigned round = 0; round < 3'000; ++round) {
        const unsigned replicas = 2 + random() % 4;
        const std::uint64_t memory = gpu.memory_bytes / replicas - (random() % 3 << 28U);
        const unsigned compute = random() % 2 == 0 ? 0 : 100 / replicas;
        grant::Limits limits{.memory_bytes = memory};
        if (compute > 0) limits.compute_percent = compute;
        offer.resources = {{.name = "nvidia.com/gpu",
                            .gpus = {{.gpu = gpu, .replicas = replicas, .limits = limits}}}};
        const bool parts = random() % 4 == 0;
        publish(parts ? Mode::kConsumable : Mode::kFixed);
        const std::string uid = "u" + std::to_string(round);
        const std::string device =
            parts ? result("gpu-0000-65-00-0", part(std::to_string(1 + random() % 8) + "Gi",
                                                    std::to_string(random() % 60)))
                  : result("gpu-0000-65-00-0-share-" + std::to_string(random() % replicas));
        if (const auto made = decide(claim_of(device, uid))) {
            prepared.insert_or_assign(uid, *made);
            ++given;
        } else {
            ++refused;
        }
        std::uint64_t memory_sum = 0;
        unsigned compute_sum = 0;
        for (const auto& [other, claim] : prepared) {
            for (const PreparedDevice& one : claim.devices) {
                memory_sum += one.memory_bytes;
                compute_sum += one.compute_percent;
            }
        }
        ASSERT_LE(memory_sum, gpu.memory_bytes) << "round " << round;
        ASSERT_LE(compute_sum, 100U) << "round " << round;
        if (prepared.size() > 1 && random() % 3 == 0) prepared.erase(prepared.begin());
    }
    EXPECT_GT(given, 300U);
    EXPECT_GT(refused, 300U);
}

TEST_F(DraPrepare, RefusesAPartWithoutItsSize) {
    publish(Mode::kConsumable);
    EXPECT_FALSE(decide(claim_of(result("gpu-0000-65-00-0", R"(,"shareID":"s")"))));
    EXPECT_FALSE(decide(claim_of(result("gpu-0000-65-00-0", part("3Gi", "101")))));
}

}  // namespace
}  // namespace aliquot::dra
