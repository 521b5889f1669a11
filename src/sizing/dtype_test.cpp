// SPDX-License-Identifier: Apache-2.0
#include "sizing/dtype.h"

#include <gtest/gtest.h>

#include <string>

#include "sizing/memory.h"

namespace aliquot::sizing {
namespace {

TEST(Dtypes, AreReadByTheWordsOfThreeFrameworks) {
    EXPECT_EQ(*parse_dtype("bfloat16"), Dtype::kBf16);
    EXPECT_EQ(*parse_dtype("HALF"), Dtype::kFp16);
    EXPECT_EQ(*parse_dtype("awq"), Dtype::kInt4);
    EXPECT_EQ(*parse_dtype("q4_K_M"), Dtype::kQ4KM);
    EXPECT_EQ(*parse_dtype("Q8_0"), Dtype::kQ8Zero);
    EXPECT_FALSE(parse_dtype("int3"));
    EXPECT_EQ(to_text(Dtype::kInt4), "int4");
    EXPECT_EQ(to_text(Dtype::kQ8Zero), "q8_0");
}

TEST(Dtypes, HaveANameThatIsReadAsThemselves) {
    for (int i = 0; i <= static_cast<int>(Dtype::kQ8Zero); ++i) {
        const auto dtype = static_cast<Dtype>(i);
        EXPECT_EQ(*parse_dtype(to_text(dtype)), dtype) << to_text(dtype);
        EXPECT_GT(bytes_per_parameter(dtype), 0);
    }
}

TEST(Dtypes, AreTakenOutOfTheNameOfAModel) {
    const auto split = [](std::string_view name) {
        const NamedFormat found = split_format(name);
        return found.name + " " + std::string(found.format ? to_text(*found.format) : "-");
    };
    EXPECT_EQ(split("Qwen/Qwen2.5-7B-Instruct-AWQ"), "Qwen/Qwen2.5-7B-Instruct int4");
    EXPECT_EQ(split("llama3:8b-instruct-q4_K_M"), "llama3:8b-instruct q4_k_m");
    EXPECT_EQ(split("hf.co/bartowski/Llama-3.2-3B-Instruct-GGUF:Q6_K"),
              "hf.co/bartowski/Llama-3.2-3B-Instruct q6_k");
    EXPECT_EQ(split("TheBloke/Mistral-7B-Instruct-v0.2-GGUF"),
              "TheBloke/Mistral-7B-Instruct-v0.2 q4_k_m");
    EXPECT_EQ(split("neuralmagic/Meta-Llama-3.1-70B-Instruct-FP8"),
              "neuralmagic/Meta-Llama-3.1-70B-Instruct fp8");
    EXPECT_EQ(split("my-awqward-7b"), "my-awqward-7b -");
    EXPECT_EQ(split("q8"), "q8 -");
    EXPECT_EQ(split(""), " -");
}

TEST(Dtypes, OfANameAreWhatTheModelIsLoadedIn) {
    const auto usual = [](std::string_view name) { return usual_dtype(*model_by_name(name)); };
    EXPECT_EQ(usual("meta-llama/Llama-3.1-8B-Instruct"), Dtype::kBf16);
    EXPECT_EQ(usual("llama3.1:8b"), Dtype::kQ4KM);  // Ollama's
    EXPECT_EQ(usual("llama3.1:8b-instruct-q8_0"), Dtype::kQ8Zero);
    EXPECT_EQ(usual("gpt-oss:20b"), Dtype::kShipped);
    EXPECT_EQ(usual("Qwen/Qwen2.5-72B-Instruct-GPTQ-Int4"), Dtype::kInt4);
    EXPECT_EQ(usual("acme/foo-13b-GGUF"), Dtype::kQ4KM);
}

}  // namespace
}  // namespace aliquot::sizing
