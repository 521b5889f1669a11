// SPDX-License-Identifier: Apache-2.0
#include "cost/share.h"

#include <gtest/gtest.h>

#include <random>

#include "gpu/inventory.h"

namespace aliquot::cost {
namespace {

TEST(Rates, GpusCostWhatCpuAndMemoryLeave) {
    const Span p5{.rate = 55'040'000,
                  .cpu_milli = 192'000,
                  .memory_mib = 2'048 * 1'024,
                  .devices = {1, 2, 3, 4, 5, 6, 7, 8}};
    const Rates rates = rates_of(p5);
    EXPECT_EQ(rates.cpu, 6'069'312);
    EXPECT_EQ(rates.memory, 8'677'376);
    EXPECT_EQ(rates.gpus.front(), 5'036'664);
    const Span g4dn{.rate = 526'000, .cpu_milli = 4'000, .memory_mib = 16 * 1'024, .devices = {1}};
    EXPECT_EQ(rates_of(g4dn).gpus.front(), 436'710);  // 0.95 of 1.144: no rest so large
}

TEST(Share, OfMigIsTheLargerOfComputeAndMemory) {
    const Held small{
        .gpu_memory_mib = 81'920, .mig_slices = 1, .gpu_slices = 7, .mig_memory_mib = 10'240};
    EXPECT_EQ(share_of(small), kWholeGpu / 7);
    const Held wide{
        .gpu_memory_mib = 81'920, .mig_slices = 3, .gpu_slices = 7, .mig_memory_mib = 40'960};
    EXPECT_EQ(share_of(wide), kWholeGpu / 2);
    EXPECT_EQ(share_of({.memory_mib = 8'192, .gpu_memory_mib = 16'384, .compute_percent = 20}),
              kWholeGpu / 2);
}

TEST(Share, OfAMigDeviceIsThatOfItsModel) {
    constexpr unsigned kMib = 20;
    struct Row {
        const char* model;
        std::uint64_t gpu_mib;
        const char* profile;
        std::uint64_t mib;  // 0: it does not tell
        double share;
    };
    for (const Row& row : std::initializer_list<Row>{
             {"NVIDIA A100-SXM4-80GB", 81'920, "1g.10gb", 9'856, 1.0 / 7},
             {"NVIDIA A100-SXM4-80GB", 81'920, "1g.10gb+me", 0, 1.0 / 7},
             {"NVIDIA A100-SXM4-80GB", 81'920, "1g.20gb", 19'968, 19'968.0 / 81'920},
             {"NVIDIA A100-SXM4-80GB", 81'920, "3g.40gb", 40'192, 40'192.0 / 81'920},
             {"NVIDIA A100-SXM4-80GB", 81'920, "3g.40gb", 0, 40'192.0 / 81'920},
             {"NVIDIA A100-SXM4-80GB", 81'920, "7g.80gb", 80'384, 1},
             {"NVIDIA A100-SXM4-80GB", 81'920, "1c.3g.40gb", 40'192, 40'192.0 / 81'920 / 3},
             {"NVIDIA A100-SXM4-80GB", 81'920, "2c.3g.40gb", 0, 40'192.0 / 81'920 / 3 * 2},
             {"NVIDIA A30", 24'576, "1g.6gb", 5'952, 1.0 / 4},
             {"NVIDIA A30", 24'576, "2g.12gb", 0, 1.0 / 2},
             {"NVIDIA A30", 24'576, "4g.24gb", 24'000, 1},
             {"NVIDIA Z9", 65'536, "2g.16gb", 16'384, 2.0 / 7},
             {"NVIDIA Z9", 65'536, "", 16'384, 1.0 / 4},
             {"NVIDIA Z9", 65'536, "", 0, 1}}) {
        gpu::Gpu gpu;
        gpu.model = row.model;
        gpu.memory_bytes = row.gpu_mib << kMib;
        const gpu::MigDevice device{
            .uuid = {"MIG-1"}, .profile = row.profile, .memory_bytes = row.mib << kMib};
        EXPECT_NEAR(share_of(gpu, device), row.share * kWholeGpu, 2) << row.model << row.profile;
    }
}

TEST(LargestRemainder, GivesEachItsPartAndTheRestToTheLargestRemainders) {
    std::mt19937_64 random(7);
    for (int round = 0; round < 3'000; ++round) {
        const Micros total = static_cast<Micros>(random() >> (14 + random() % 50));
        std::vector<Wide> weights(1 + random() % 40);
        const auto bits = static_cast<unsigned>(1 + random() % 72);
        Wide sum = 0;
        for (Wide& one : weights) {
            one = random() % 4 == 0 ? 0 : (Wide{random()} << 64U | random()) >> (128 - bits);
            sum += one;
        }
        if (sum >> 76U != 0) continue;  // cut, and then near only
        const auto parts = largest_remainder(total, weights);
        if (sum == 0) continue;
        Micros given = 0;
        for (std::size_t i = 0; i < weights.size(); ++i) {
            const auto least = static_cast<Micros>(static_cast<Wide>(total) * weights[i] / sum);
            EXPECT_GE(parts[i], least);
            EXPECT_LE(parts[i], least + (static_cast<Wide>(total) * weights[i] % sum == 0 ? 0 : 1));
            given += parts[i];
        }
        EXPECT_EQ(given, total);
    }
}

}  // namespace
}  // namespace aliquot::cost
