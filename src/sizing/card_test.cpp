// SPDX-License-Identifier: Apache-2.0
#include "sizing/card.h"

#include <gtest/gtest.h>

namespace aliquot::sizing {
namespace {

CardFit fit(std::string_view model, Dtype dtype, std::string_view gpu, unsigned most = 8,
            double context = 0) {
    const auto shape = model_by_name(model);
    EXPECT_TRUE(shape) << model;
    const catalog::GpuModel* const card = catalog::find_gpu_model(gpu);
    EXPECT_NE(card, nullptr) << gpu;
    Load load;
    load.dtype = dtype;
    load.context = context;
    const auto made = fit_card(*shape, load, *card, card->memory_gib, most);
    EXPECT_TRUE(made);
    return *made;
}

TEST(CardFit, SaysYesForConsumerCardsThatHoldTheModel) {
    for (const char* gpu : {"rtx-3090", "rtx-4090", "rtx-3060", "a2", "gtx-1070"}) {
        const CardFit one = fit("llama-3-8b", Dtype::kInt4, gpu);
        EXPECT_TRUE(one.fits) << gpu << ": " << one.problem;
        EXPECT_EQ(one.count, 1U) << gpu;
        EXPECT_GT(one.most_batch, 0) << gpu;
        EXPECT_GE(one.most_context, 4096) << gpu;
    }
}

TEST(CardFit, MostContextAndMostBatchAreTheLargestThatFit) {
    const auto shape = model_by_name("llama-3.1-8b");
    const catalog::GpuModel* const card = catalog::find_gpu_model("rtx-3090");
    Load load;
    load.dtype = Dtype::kInt8;
    const auto one = fit_card(*shape, load, *card, 24, 1);
    ASSERT_TRUE(one && one->fits);
    load.context = one->most_context;
    EXPECT_LE(estimate_memory(*shape, load)->per_gpu_gib, one->usable_gib);
    load.context = one->most_context + 1;
    EXPECT_GT(estimate_memory(*shape, load)->per_gpu_gib, one->usable_gib);
    load.context = 4096;
    load.batch = one->most_batch + 1;
    EXPECT_GT(estimate_memory(*shape, load)->per_gpu_gib, one->usable_gib);
}

TEST(CardFit, TakesTheFewestGpusThatHoldIt) {
    EXPECT_EQ(fit("llama-3-70b", Dtype::kInt4, "rtx-3090").count, 2U);
    EXPECT_FALSE(fit("llama-3-70b", Dtype::kBf16, "rtx-3090", 2).fits);
    EXPECT_EQ(fit("llama-3-70b", Dtype::kBf16, "a100-80").count, 2U);
}

TEST(CardFit, NamesTheFormatThatWouldFit) {
    const CardFit one = fit("llama-3-8b", Dtype::kBf16, "rtx-3060", 1);
    EXPECT_FALSE(one.fits);
    EXPECT_EQ(one.smaller, "int8");
    const CardFit old = fit("qwen2.5-0.5b", Dtype::kBf16, "gtx-1070", 1);
    EXPECT_FALSE(old.fits);
    EXPECT_NE(old.problem.find("bf16 needs compute capability 8.0"), std::string::npos);
    EXPECT_EQ(old.smaller, "fp16");
}

TEST(CardFit, TakesFp16WhereBf16NeedsANewerCard) {
    const auto shape = model_by_name("llama-3.2-1b");
    ASSERT_TRUE(shape);
    EXPECT_EQ(usual_dtype_on(*shape, *catalog::find_gpu_model("t4")), Dtype::kFp16);
    EXPECT_EQ(usual_dtype_on(*shape, *catalog::find_gpu_model("l4")), Dtype::kBf16);
}

TEST(CardFit, TakesAModelAsItShips) {
    const auto shape = model_by_name("gpt-oss-20b");
    ASSERT_TRUE(shape);
    EXPECT_EQ(usual_dtype(*shape), Dtype::kShipped);
    EXPECT_TRUE(fit("gpt-oss-20b", Dtype::kShipped, "rtx-4090", 1).fits);
    EXPECT_FALSE(fit("gpt-oss-20b", Dtype::kBf16, "rtx-4090", 1).fits);
    EXPECT_EQ(usual_dtype(*model_by_name("llama-3-8b")), Dtype::kBf16);
}

TEST(CardFit, CountsWhatShipsByItsServer) {
    const auto fits = [](std::string_view name) {
        Load load;
        load.dtype = Dtype::kShipped;
        load.context = 32768;
        const auto shape = model_by_name(name);
        const auto* const card = catalog::find_gpu_model("rtx-5060-ti");
        return fit_card(*shape, load, *card, card->memory_mib / 1024.0, 1)->fits;
    };
    EXPECT_TRUE(fits("gpt-oss:20b"));          // llama.cpp, by Ollama
    EXPECT_FALSE(fits("openai/gpt-oss-20b"));  // vLLM
}

TEST(CardFit, DoesNotNameAFormatOfAboutAsManyBits) {
    EXPECT_EQ(fit("gpt-oss-120b", Dtype::kShipped, "a100-40", 1).smaller, "");
    EXPECT_EQ(fit("deepseek-v3", Dtype::kShipped, "h200", 4).smaller, "int4");
}

}  // namespace
}  // namespace aliquot::sizing
