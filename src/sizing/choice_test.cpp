// SPDX-License-Identifier: Apache-2.0
#include "sizing/choice.h"

#include <gtest/gtest.h>

namespace aliquot::sizing {
namespace {

GpuChoice choose(std::string_view model, const Load& load, const HostNeed& host = {}) {
    const auto shape = model_by_name(model);
    EXPECT_TRUE(shape);
    const auto choice = choose_gpus(*shape, load, host);
    EXPECT_TRUE(choice) << choice.error().message;
    return *choice;
}

TEST(GpuChoice, OfASmallQuantisedModelIsTheCheapestCardThatHoldsIt) {
    Load load;
    load.dtype = Dtype::kInt4;
    load.context = 8192;
    load.batch = 4;
    const GpuChoice choice = choose("llama-3-8b", load);
    ASSERT_EQ(choice.best.size(), 3U);
    EXPECT_EQ(choice.best[0].model->key, "t4");
    EXPECT_EQ(choice.best[0].count, 1U);
    EXPECT_LE(choice.best[0].usd_per_hour, choice.best[1].usd_per_hour);
    EXPECT_LE(choice.best[1].usd_per_hour, choice.best[2].usd_per_hour);
    for (const GpuOption& option : choice.best) {
        EXPECT_LE(option.per_gpu_gib, option.usable_gib);
        EXPECT_NE(option.instance, nullptr);
    }
}

TEST(GpuChoice, OfAModelAsItShipsTakesItsMachineByItsOwnWeights) {
    Load load;
    load.dtype = Dtype::kShipped;
    const GpuChoice choice = choose("gpt-oss-120b", load);
    ASSERT_FALSE(choice.best.empty());
    // 61 GiB of weights pass through the memory of the pod, not 218 GiB of 16-bit ones.
    EXPECT_LT(choice.best[0].instance->memory_gib, 222);
    EXPECT_EQ(choice.cheaper.find("int4"), std::string::npos);
}

TEST(GpuChoice, HoldsBackFormatsThatACardCannotRun) {
    Load load;
    load.dtype = Dtype::kBf16;
    const GpuChoice choice = choose("llama-3.2-1b", load);
    for (const GpuOption& option : choice.best) EXPECT_GE(option.model->compute.major(), 8U);
    bool told = false;
    for (const std::string& line : choice.rejected) {
        told = told || line.find("bf16 needs compute capability 8.0") != std::string::npos;
    }
    EXPECT_TRUE(told);
}

TEST(GpuChoice, OfFullTrainingOfSevenBillionTakesSeveralLargeCards) {
    Load load;
    load.task = Task::kTrainFull;
    const GpuChoice choice = choose("mistral-7b", load);
    ASSERT_FALSE(choice.best.empty());
    for (const GpuOption& option : choice.best) {
        EXPECT_GT(option.count * option.gpu_gib, 108);
    }
    EXPECT_NE(choice.cheaper.find("LoRA"), std::string::npos) << choice.cheaper;
}

TEST(GpuChoice, OfQloraFitsOneCardOf24Gib) {
    Load load;
    load.task = Task::kTrainQlora;
    HostNeed host;
    host.gpu = "a10g";
    const GpuChoice choice = choose("mistral-7b", load, host);
    ASSERT_FALSE(choice.best.empty());
    EXPECT_EQ(choice.best[0].count, 1U);
}

TEST(GpuChoice, OfWhatNoMachineHoldsIsEmptyAndSaysWhatWouldHelp) {
    Load load;
    load.task = Task::kTrainFull;
    const GpuChoice choice = choose("deepseek-v3", load);
    EXPECT_TRUE(choice.best.empty());
    EXPECT_FALSE(choice.rejected.empty());
}

TEST(GpuChoice, CountsDivideTheHeads) {
    Load load;
    load.dtype = Dtype::kBf16;
    HostNeed host;
    host.gpus = 8;
    const GpuChoice choice = choose("qwen2.5-0.5b", load, host);  // 14 heads, 2 in the cache
    EXPECT_TRUE(choice.best.empty());
    ASSERT_FALSE(choice.rejected.empty());
    EXPECT_NE(choice.rejected[0].find("do not divide 14 heads"), std::string::npos);
}

}  // namespace
}  // namespace aliquot::sizing
