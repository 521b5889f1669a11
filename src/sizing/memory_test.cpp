// SPDX-License-Identifier: Apache-2.0
#include "sizing/memory.h"

#include <gtest/gtest.h>

namespace aliquot::sizing {
namespace {

constexpr double kGib = 1024.0 * 1024.0 * 1024.0;

Need estimate(std::string_view model, const Load& load) {
    const auto shape = model_by_name(model);
    EXPECT_TRUE(shape);
    const auto need = estimate_memory(*shape, load);
    EXPECT_TRUE(need) << need.error().message;
    return *need;
}

double cache(std::string_view model, double context) {
    Load load;
    load.context = context;
    return estimate(model, load).of("cache");
}

TEST(Memory, OfWeightsIsWithinTwoPercentOfWhatOthersPosted) {
    Load load;
    load.dtype = Dtype::kFp16;
    const auto near = [](double value, double posted) {
        EXPECT_NEAR(value / posted, 1, 0.02) << value << " for " << posted;
    };
    near(estimate("incoder-1.31B", load).of("weights"), 2.45);
    near(estimate("HuggingFaceH4/zephyr-7b-alpha", load).of("weights"), 13.74);
    near(estimate("WizardCoder-34B", load).of("weights"), 62.74);
    near(estimate("Llama-2-70b", load).of("weights"), 128.15);
    load.dtype = Dtype::kInt4;  // 0.5 B, and 10 % for the scales that the posted figure leaves out
    near(estimate("Llama-2-70b", load).of("weights") / 1.1, 32.04);
}

TEST(Memory, OfTheCacheIsExact) {
    EXPECT_DOUBLE_EQ(cache("llama-2-7b", 4096), 2.0);
    EXPECT_DOUBLE_EQ(cache("llama-3-8b", 8192), 1.0);
    EXPECT_DOUBLE_EQ(cache("llama-3-70b", 8192), 2.5);
}

TEST(Memory, OfTheCacheIsThatOfTheWindowInLayersWithOne) {
    // 10 layers x 131072 tokens + 52 x 1024, 4096 values of 2 bytes each
    EXPECT_DOUBLE_EQ(cache("gemma-3-27b", 131072), (10 * 131072 + 52 * 1024) * 8192.0 / kGib);
    EXPECT_DOUBLE_EQ(cache("gemma-3-27b", 512), 62 * 512 * 8192.0 / kGib);  // shorter than a window
    EXPECT_DOUBLE_EQ(cache("gpt-oss-20b", 131072), (12 * 131072 + 12 * 128) * 2048.0 / kGib);
    Load load;
    load.context = 32768;
    for (const Term& term : estimate("gemma-3-27b", load).terms) {
        if (term.name != "cache") continue;
        EXPECT_EQ(term.arithmetic.substr(0, term.arithmetic.find(" =")), "4096 values x 2 B");
        EXPECT_NE(term.arithmetic.find("(10 layers x 32768 tokens + 52 layers x their window of "
                                       "1024) x batch 1 = "),
                  std::string::npos)
            << term.arithmetic;
    }
}

TEST(Memory, OfInferenceIsWeightsCacheAndWhatAServerTakes) {
    Load load;
    load.context = 8192;
    load.batch = 4;
    load.dtype = Dtype::kInt4;
    const Need need = estimate("llama-3-8b", load);
    EXPECT_NEAR(need.of("weights"), 8.03e9 * 0.55 / kGib, 0.001);
    EXPECT_NEAR(need.of("embeddings"), 2 * 128256.0 * 4096 * 1.45 / kGib, 0.001);
    EXPECT_NEAR(need.of("cache"), 4.0, 0.001);
    const double each = 8192.0 * 2 * 4096 * 12.5 + 256.0 * 128256 * 8;
    EXPECT_NEAR(need.of("working space"), 0.85 + each / kGib, 0.001);
    EXPECT_DOUBLE_EQ(need.total_gib, need.per_gpu_gib);
    EXPECT_EQ(need.terms[0].arithmetic,
              "8.03 B parameters x 0.55 B (int4 with 10 % for scales) = 4.11 GiB");
    EXPECT_EQ(need.assumed,
              "int4 weights, fp16 cache, 8192 tokens, batch 4, a server such as vLLM; within 20 % "
              "of 41 of 42 published figures");
}

TEST(Memory, OfAGgufIsWhatLlamaCppReports) {
    Load load;
    load.context = 8192;
    load.dtype = Dtype::kQ4KM;
    const Need need = estimate("llama-3.1-8b", load);
    EXPECT_NEAR(need.of("weights"), 4.58, 0.03);
    EXPECT_DOUBLE_EQ(need.of("embeddings"), 0);
    EXPECT_NEAR(need.of("working space"), 0.45 + 512 * (4.0 * 128256 + 64 * 4096) / kGib, 0.001);
}

TEST(Memory, OfManyGpusHasASpaceOnEachThatDoesNotGrowWithTheWeights) {
    Load load;
    load.gpus = 8;
    const Need need = estimate("llama-3.1-405b", load);
    EXPECT_LT(need.of("working space") / 8, 3);
    EXPECT_NEAR(need.per_gpu_gib, 755.96 / 8 + need.of("working space") / 8 + 1.97 / 8, 0.01);
}

TEST(Memory, OfALatentCacheIsOnEveryGpu) {
    Load load;
    load.gpus = 8;
    load.context = 131072;
    for (const Term& term : estimate("deepseek-v3", load).terms) {
        if (term.name == "cache") {
            EXPECT_DOUBLE_EQ(term.per_gpu_gib, term.gib);
        }
    }
}

TEST(Memory, OfFullTrainingShowsBothRulesAndUsesSixteenBytes) {
    Load load;
    load.task = Task::kTrainFull;
    const Need need = estimate("zephyr-7b", load);
    EXPECT_NEAR(need.of("weights") + need.of("gradients") + need.of("optimizer"), 108, 1);
    ASSERT_GE(need.notes.size(), 2U);
    EXPECT_NE(need.notes[0].find("used: 16 B per parameter = 107.9"), std::string::npos);
    EXPECT_NE(need.notes[1].find("= 53.9"), std::string::npos) << need.notes[1];
    load.fp32_gradients = true;
    EXPECT_NE(estimate("zephyr-7b", load).notes[0].find("18 B"), std::string::npos);
    load.fp32_gradients = false;
    load.dtype = Dtype::kFp32;
    EXPECT_NE(estimate("zephyr-7b", load).notes[0].find("16 B"), std::string::npos);
    load.dtype = Dtype::kBf16;
    load.optimizer = Optimizer::kAdam8bit;
    EXPECT_NE(estimate("zephyr-7b", load).notes[0].find("10 B"), std::string::npos);
    load.optimizer = Optimizer::kSgdMomentum;
    EXPECT_NE(estimate("zephyr-7b", load).notes[0].find("12 B"), std::string::npos);
}

TEST(Memory, OfZeroStagesFollowsTheirFormulas) {
    Load load;
    load.task = Task::kTrainFull;
    load.gpus = 8;
    const double parameters = model_by_name("llama-2-7b")->parameters;
    for (const auto& [stage, bytes] : {std::pair(0U, 16.0), std::pair(1U, 4 + 12.0 / 8),
                                       std::pair(2U, 2 + 14.0 / 8), std::pair(3U, 16.0 / 8)}) {
        load.zero_stage = stage;
        const Need need = estimate("llama-2-7b", load);
        double found = 0;
        for (const Term& term : need.terms) {
            const bool counts =
                term.name == "weights" || term.name == "gradients" || term.name == "optimizer";
            if (counts) found += term.per_gpu_gib;
        }
        EXPECT_NEAR(found, parameters * bytes / kGib, 0.01) << stage;
    }
}

TEST(Memory, OfAdaptersIsTheBaseAndALittle) {
    Load load;
    load.task = Task::kTrainQlora;
    const Need qlora = estimate("llama-2-7b", load);
    EXPECT_NEAR(qlora.of("weights"), 6.738e9 * 0.55 / kGib, 0.01);
    EXPECT_NEAR(qlora.of("adapters"), 6.738e9 * 0.015 * 16 / kGib, 0.01);
    EXPECT_LT(qlora.total_gib, 12);
    load.task = Task::kTrainLora;
    EXPECT_GT(estimate("llama-2-7b", load).total_gib, qlora.total_gib + 8);
}

TEST(Memory, OfActivationsShrinksWithCheckpointing) {
    Load load;
    load.task = Task::kTrainFull;
    load.context = 2048;
    load.checkpointing = Checkpointing::kNone;
    const double none = estimate("llama-2-7b", load).of("activations");
    // 32 layers x 2048 x 1 x 4096 x (34 + 5 x 32 x 2048 / 4096)
    EXPECT_NEAR(none, 32.0 * 2048 * 4096 * (34 + 80) / kGib, 0.01);
    load.checkpointing = Checkpointing::kSelective;
    const double selective = estimate("llama-2-7b", load).of("activations");
    EXPECT_NEAR(selective, 32.0 * 2048 * 4096 * 34 / kGib, 0.01);
    load.checkpointing = Checkpointing::kFull;
    EXPECT_LT(estimate("llama-2-7b", load).of("activations"), selective);
}

TEST(Memory, OfAMixtureHoldsAllExperts) {
    const Need need = estimate("mixtral-8x7b", {});
    EXPECT_NEAR(need.of("weights"), 46.7e9 * 2 / kGib, 0.1);
    ASSERT_FALSE(need.notes.empty());
    EXPECT_NE(need.notes[0].find("all experts are resident"), std::string::npos);
}

TEST(Memory, OfSmallModelsComesFromTheTable) {
    const Need need = estimate("kokoro-82m", {});
    EXPECT_GT(need.total_gib, 1);
    EXPECT_LT(need.total_gib, 2.2);
    EXPECT_EQ(need.certainty, Certainty::kGuessed);
}

TEST(Memory, OfLoadsOutOfRangeIsRefused) {
    const auto shape = model_by_name("llama-3-8b");
    for (const auto& change : std::vector<void (*)(Load&)>{
             [](Load& l) { l.batch = 0; }, [](Load& l) { l.context = -1; },
             [](Load& l) { l.context = 1e300; }, [](Load& l) { l.gpus = 0; },
             [](Load& l) { l.zero_stage = 4; }, [](Load& l) { l.lora_percent = 0; }}) {
        Load load;
        change(load);
        EXPECT_FALSE(estimate_memory(*shape, load));
    }
}

}  // namespace
}  // namespace aliquot::sizing
