// SPDX-License-Identifier: Apache-2.0
#include "jobs/preset.h"

#include <gtest/gtest.h>

#include "catalog/gpu_models.h"
#include "k8s/names.h"
#include "k8s/quantity.h"

namespace aliquot::jobs {
namespace {

// R2, R3.
TEST(JobPreset, OfV100AndA100IsThatOfTheGuide) {
    EXPECT_EQ(preset_of("v100"), (Amounts{"16Gi", "8000m"}));
    EXPECT_EQ(requests_of(preset_of("v100")), (Amounts{"8Gi", "4000m"}));
    EXPECT_EQ(preset_of("a100"), (Amounts{"32Gi", "16000m"}));
    EXPECT_EQ(requests_of(preset_of("a100")), (Amounts{"16Gi", "8000m"}));
    EXPECT_EQ(accelerator_of("v100"), "nvidia-tesla-v100");
    EXPECT_EQ(accelerator_of("a100"), "nvidia-tesla-a100");
    EXPECT_EQ(accelerator_of("any"), "");
}

// R4, R23.
TEST(JobPreset, OfEveryModelAsksForHalfOfItsLimits) {
    for (const catalog::GpuModel& model : catalog::gpu_models()) {
        const Amounts limits = preset_of(model.key);
        const Amounts half = requests_of(limits);
        EXPECT_EQ(k8s::Quantity::parse(half.memory)->nanos() * 2,
                  k8s::Quantity::parse(limits.memory)->nanos())
            << model.key;
        EXPECT_EQ(k8s::Quantity::parse(half.cpu)->nanos() * 2,
                  k8s::Quantity::parse(limits.cpu)->nanos())
            << model.key;
        EXPECT_EQ(k8s::check_label_value(accelerator_of(model.key)), "") << model.key;
    }
}

TEST(JobPreset, HalvesOddAmountsExactly) {
    for (const char* memory :
         {"1", "3", "1000001", "16Gi", "1500M", "7Mi", "9223372036854775807"}) {
        const auto whole = k8s::Quantity::parse(memory)->ones();
        const auto half = k8s::Quantity::parse(requests_of({memory, "1"}).memory)->ones();
        EXPECT_EQ(*half, *whole - *whole / 2) << memory;
    }
    EXPECT_EQ(requests_of({"1Gi", "3"}).cpu, "1500m");
    EXPECT_EQ(requests_of({"1Gi", "1m"}).cpu, "1m");
}

}  // namespace
}  // namespace aliquot::jobs
