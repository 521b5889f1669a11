// SPDX-License-Identifier: Apache-2.0
#include "catalog/models.h"

#include <gtest/gtest.h>

#include "catalog/embedded.h"
#include "catalog/table.h"

namespace aliquot::catalog {
namespace {

std::string_view key_of(std::string_view name) {
    const KnownModel* const model = find_known_model(name);
    return model == nullptr ? std::string_view("?") : model->key;
}

TEST(KnownModels, AreFoundByTheNamesOfTheirRepositories) {
    EXPECT_EQ(key_of("llama-3-8b"), "llama-3-8b");
    EXPECT_EQ(key_of("meta-llama/Meta-Llama-3-8B-Instruct"), "llama-3-8b");
    EXPECT_EQ(key_of("meta-llama/Llama-3.1-70B-Instruct"), "llama-3.1-70b");
    EXPECT_EQ(key_of("Qwen/Qwen2.5-7B-Instruct-AWQ"), "qwen2.5-7b");
    EXPECT_EQ(key_of("mistralai/Mixtral-8x7B-Instruct-v0.1"), "mixtral-8x7b");
    EXPECT_EQ(key_of("HuggingFaceH4/zephyr-7b-alpha"), "mistral-7b");
    EXPECT_EQ(key_of("hexgrad/Kokoro-82M"), "kokoro-82m");
    EXPECT_EQ(key_of("my-own-thing"), "?");
    EXPECT_EQ(nearest_known_model("lama-3-8b"), "llama-3-8b");
}

TEST(KnownModels, HaveSpellingsOfTheirOwnAndACompleteShape) {
    for (const std::string_view text : {kModelTable, kGpuImageTable}) {
        const auto table = read_table(text);
        ASSERT_TRUE(table) << table.error().message;
    }
    for (const KnownModel& model : known_models()) {
        EXPECT_EQ(find_known_model(model.key), &model) << model.key;
        for (const auto alias : model.aliases) EXPECT_EQ(find_known_model(alias), &model) << alias;
        EXPECT_GT(model.parameters, 0) << model.key;
        EXPECT_LE(model.active_parameters, model.parameters) << model.key;
        if (model.kind == "decoder") {
            EXPECT_TRUE(model.kv_width != 0 && model.layers != 0 && model.heads != 0 &&
                        model.context != 0)
                << model.key;
        } else {
            EXPECT_GT(model.working_mib * model.item_mib, 0U) << model.key;
        }
    }
}

TEST(KnownModels, AreFoundWithTheMonthOfTheirRelease) {
    EXPECT_EQ(find_known_model("mistralai/Mistral-Small-3.2-24B-Instruct-2506")->key,
              "mistral-small-24b");
    EXPECT_EQ(find_known_model("meta-llama/Llama-4-Scout-17B-16E-Instruct")->key, "llama-4-scout");
    // A release with a shape of its own is found by its own name.
    EXPECT_EQ(find_known_model("Qwen/Qwen3-30B-A3B-Instruct-2507")->key, "qwen3-coder-30b-a3b");
    EXPECT_EQ(find_known_model("mistral-small-24b-2513"), nullptr) << "no month";
}

TEST(KnownImages, AreFoundByTheirNameNotTheirTagOrDigest) {
    EXPECT_EQ(find_known_image("ghcr.io/remsky/kokoro-fastapi-gpu:v0.2.2")->memory_gib, 2);
    EXPECT_EQ(find_known_image("localhost:5000/x/faster-whisper-server:latest-cuda")->word,
              "faster-whisper");
    EXPECT_TRUE(find_known_image("vllm/vllm-openai:v0.6")->takes_whole_gpu);
    EXPECT_EQ(find_known_image("registry/x:vllm"), nullptr);
    EXPECT_EQ(find_known_image("nginx"), nullptr);
}

}  // namespace
}  // namespace aliquot::catalog
