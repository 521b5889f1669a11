// SPDX-License-Identifier: Apache-2.0
#include "sharing/offer_mps.h"

#include <gmock/gmock.h>

namespace aliquot::sharing {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

constexpr std::uint64_t kMi = 1ULL << 20U;
constexpr std::uint64_t kGi = 1ULL << 30U;

gpu::Gpu gpu_of(unsigned index, const std::string& model, std::uint64_t memory, unsigned major) {
    return {.index = index,
            .uuid = {"GPU-" + std::string(1, static_cast<char>('a' + index))},
            .model = model,
            .memory_bytes = memory,
            .compute_major = major,
            .compute_minor = 6};
}

gpu::Inventory with(std::vector<gpu::Gpu> gpus) { return {.gpus = std::move(gpus)}; }

Config shared(SharedResource entry) {
    entry.name = "nvidia.com/gpu";
    Config config;
    config.sharing.mechanism = grant::Mechanism::kMps;
    config.sharing.fail_requests_greater_than_one = true;
    config.sharing.resources.push_back(std::move(entry));
    return config;
}

TEST(OfferMps, EightReplicasOfTwentyFourGiAreThreeGiAndTwelvePercentEach) {
    const auto offer = make_offer(shared({.replicas = 8}),
                                  with({gpu_of(0, "NVIDIA GeForce RTX 4090", 24 * kGi, 8)}));
    ASSERT_TRUE(offer) << offer.error().message;
    const OfferedGpu& gpu = offer->resources.at(0).gpus.at(0);
    EXPECT_EQ(gpu.mechanism(), grant::Mechanism::kMps);
    EXPECT_EQ(gpu.limits.memory_bytes, 3072 * kMi);
    EXPECT_EQ(gpu.limits.compute_percent, 12U);
    EXPECT_EQ(offer->resources[0].devices().size(), 8U);
    EXPECT_TRUE(offer->resources[0].fail_requests_greater_than_one);
}

TEST(OfferMps, MemoryAndComputeOfTheEntryCountInsteadOfEqualParts) {
    const auto offer = make_offer(
        shared({.replicas = 4, .limits = {.memory_bytes = 5 * kGi, .compute_percent = 60}}),
        with({gpu_of(0, "A", 24 * kGi, 8)}));
    ASSERT_TRUE(offer) << offer.error().message;
    EXPECT_EQ(offer->resources[0].gpus[0].limits.memory_bytes, 5 * kGi);
    EXPECT_EQ(offer->resources[0].gpus[0].limits.compute_percent, 60U);
    const auto beyond = make_offer(shared({.replicas = 4, .limits = {.memory_bytes = 7 * kGi}}),
                                   with({gpu_of(0, "A", 24 * kGi, 8)}));
    ASSERT_FALSE(beyond);
    EXPECT_EQ(beyond.error().message,
              "sharing.mps.resources[0]: the shares together want 28Gi, more than GPU 0 (A, "
              "compute capability 8.6) has (24Gi)");
}

TEST(OfferMps, UnequalSharesDivideWhatTheOthersLeave) {
    const auto offer =
        make_offer(shared({.replicas = 3, .shares = {{8 * kGi, 50}, {4 * kGi, {}}, {}}}),
                   with({gpu_of(0, "A", 16 * kGi, 8)}));
    ASSERT_TRUE(offer) << offer.error().message;
    const OfferedGpu& gpu = offer->resources[0].gpus[0];
    EXPECT_THAT(gpu.shares, ElementsAre(grant::Limits{8 * kGi, 50}, grant::Limits{4 * kGi, 25},
                                        grant::Limits{4 * kGi, 25}));
    EXPECT_EQ(gpu.limits.memory_bytes, 8 * kGi);
    EXPECT_EQ(gpu.limits.compute_percent, 50U);
    EXPECT_FALSE(make_offer(shared({.replicas = 2, .shares = {{12 * kGi, {}}, {5 * kGi, {}}}}),
                            with({gpu_of(0, "A", 16 * kGi, 8)})));
}

TEST(OfferMps, AGpuBeforeVoltaIsRefusedWithAdvice) {
    const auto pascal = gpu_of(0, "NVIDIA GeForce GTX 1070", 8 * kGi, 6);
    const auto refused = make_offer(shared({.replicas = 2}), with({pascal}));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kUnsupported);
    EXPECT_THAT(refused.error().message, HasSubstr("older than Volta (7.0)"));
    EXPECT_THAT(refused.error().message, HasSubstr("use sharing.timeSlicing for this GPU"));
    EXPECT_THAT(make_offer(shared({.replicas = 17}), with({pascal})).error().message,
                HasSubstr("serves at most 16 MPS clients"));
}

TEST(OfferMps, V100IsVoltaAndServesFortyEight) {
    const auto v100 = gpu_of(0, "Tesla V100-SXM2-16GB", 16 * kGi, 7);
    EXPECT_EQ(most_mps_clients(v100), 48U);
    EXPECT_TRUE(make_offer(shared({.replicas = 48}), with({v100})));
    EXPECT_FALSE(make_offer(shared({.replicas = 49}), with({v100})));
}

TEST(OfferMps, AGpuInMigModeIsRefused) {
    auto cut = gpu_of(0, "NVIDIA A100-SXM4-40GB", 40 * kGi, 8);
    cut.mig_enabled = true;
    const auto refused = make_offer(shared({.replicas = 2}), with({cut}));
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, HasSubstr("is in MIG mode"));
}

TEST(GrantMps, AContainerFindsTheDaemonOfItsGpuWhereNvidiaPutsIt) {
    const auto offer = make_offer(shared({.replicas = 4}),
                                  with({gpu_of(0, "A", 16 * kGi, 8), gpu_of(1, "A", 16 * kGi, 8)}));
    ASSERT_TRUE(offer);
    const std::vector<std::string> ids{"GPU-b::2"};
    const auto grant = make_grant(offer->resources[0], {}, ids, "n");
    ASSERT_TRUE(grant) << grant.error().message;
    EXPECT_THAT(
        grant->environment,
        testing::UnorderedElementsAre(Pair("NVIDIA_VISIBLE_DEVICES", "GPU-b"),
                                      Pair("CUDA_MPS_PIPE_DIRECTORY", "/mps/nvidia.com/gpu/pipe")));
    EXPECT_THAT(grant->mounts,
                ElementsAre(grant::Grant::Mount{"/mps/nvidia.com/gpu/pipe",
                                                "/run/nvidia/mps/GPU-b/pipe", false},
                            grant::Grant::Mount{"/dev/shm", "/run/nvidia/mps/GPU-b/shm", false}));
}

TEST(GrantMps, ASmallerShareIsToldItsLimitsAndTheLargestNeedsNone) {
    const auto offer = make_offer(shared({.replicas = 2, .shares = {{8 * kGi, 50}, {4 * kGi, 25}}}),
                                  with({gpu_of(0, "A", 16 * kGi, 8)}));
    ASSERT_TRUE(offer);
    const auto largest =
        make_grant(offer->resources[0], {}, std::vector<std::string>{"GPU-a::0"}, "n");
    ASSERT_TRUE(largest);
    EXPECT_FALSE(largest->environment.contains("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"));
    const auto smaller =
        make_grant(offer->resources[0], {}, std::vector<std::string>{"GPU-a::1"}, "n");
    ASSERT_TRUE(smaller);
    EXPECT_EQ(smaller->environment.at("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"), "0=4096M");
    EXPECT_EQ(smaller->environment.at("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"), "25");
    EXPECT_EQ(smaller->shares.at(0).limits.memory_bytes, 4 * kGi);
}

TEST(GrantMps, SharesOfTwoGpusAreRefusedAndPreferredFromOne) {
    auto config = shared({.replicas = 4});
    config.sharing.fail_requests_greater_than_one = false;
    const auto offer =
        make_offer(config, with({gpu_of(0, "A", 16 * kGi, 8), gpu_of(1, "A", 16 * kGi, 8)}));
    ASSERT_TRUE(offer);
    const std::vector<std::string> both{"GPU-a::0", "GPU-b::0"};
    const auto refused = make_grant(offer->resources[0], {}, both, "n");
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, HasSubstr("MPS connects a container to one GPU"));
    const std::vector<std::string> free{"GPU-a::3", "GPU-b::0", "GPU-b::1"};
    EXPECT_THAT(prefer(offer->resources[0], {}, AllocationPolicy::kDistributed, free, {}, 2),
                ElementsAre("GPU-b::0", "GPU-b::1"));
}

TEST(GrantMps, WithoutAPrivateDirectoryTheHostsSharedMemoryIsMounted) {
    const auto offer = make_offer(shared({.replicas = 2}), with({gpu_of(0, "A", 16 * kGi, 8)}));
    GrantOptions options;
    options.mps_private_shm = false;
    const auto grant =
        make_grant(offer->resources[0], options, std::vector<std::string>{"GPU-a::0"}, "n");
    ASSERT_TRUE(grant);
    EXPECT_EQ(grant->mounts.at(1).host_path, "/dev/shm");
}

}  // namespace
}  // namespace aliquot::sharing
