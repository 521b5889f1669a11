// SPDX-License-Identifier: Apache-2.0
#include "sizing/model.h"

#include <gtest/gtest.h>

#include <array>

namespace aliquot::sizing {
namespace {

struct Config {
    std::string_view name;
    double billions;  // as published
    std::string_view fields;
};

constexpr std::array<Config, 27> kConfigs{
    {
        {"Llama-2-7b", 6.738,
         R"({"model_type":"llama","hidden_size":4096,"num_hidden_layers":32,"num_attention_heads":32,"intermediate_size":11008,"vocab_size":32000,"tie_word_embeddings":false,"max_position_embeddings":4096,"hidden_act":"silu"})"},
        {"Llama-2-13b", 13.016,
         R"({"model_type":"llama","hidden_size":5120,"num_hidden_layers":40,"num_attention_heads":40,"intermediate_size":13824,"vocab_size":32000})"},
        {"Llama-2-70b", 68.977,
         R"({"model_type":"llama","hidden_size":8192,"num_hidden_layers":80,"num_attention_heads":64,"num_key_value_heads":8,"intermediate_size":28672,"vocab_size":32000})"},
        {"Llama-3-8B", 8.03,
         R"({"model_type":"llama","hidden_size":4096,"num_hidden_layers":32,"num_attention_heads":32,"num_key_value_heads":8,"intermediate_size":14336,"vocab_size":128256})"},
        {"Llama-3-70B", 70.554,
         R"({"model_type":"llama","hidden_size":8192,"num_hidden_layers":80,"num_attention_heads":64,"num_key_value_heads":8,"intermediate_size":28672,"vocab_size":128256})"},
        {"Llama-3.1-405B", 405.853,
         R"({"model_type":"llama","hidden_size":16384,"num_hidden_layers":126,"num_attention_heads":128,"num_key_value_heads":8,"intermediate_size":53248,"vocab_size":128256})"},
        {"Llama-3.2-1B", 1.236,
         R"({"model_type":"llama","hidden_size":2048,"num_hidden_layers":16,"num_attention_heads":32,"num_key_value_heads":8,"head_dim":64,"intermediate_size":8192,"vocab_size":128256,"tie_word_embeddings":true})"},
        {"Llama-3.2-3B", 3.213,
         R"({"model_type":"llama","hidden_size":3072,"num_hidden_layers":28,"num_attention_heads":24,"num_key_value_heads":8,"head_dim":128,"intermediate_size":8192,"vocab_size":128256,"tie_word_embeddings":true})"},
        {"Mistral-7B", 7.242,
         R"({"model_type":"mistral","hidden_size":4096,"num_hidden_layers":32,"num_attention_heads":32,"num_key_value_heads":8,"intermediate_size":14336,"vocab_size":32000})"},
        {"Mixtral-8x7B", 46.703,
         R"({"model_type":"mixtral","hidden_size":4096,"num_hidden_layers":32,"num_attention_heads":32,"num_key_value_heads":8,"intermediate_size":14336,"vocab_size":32000,"num_local_experts":8,"num_experts_per_tok":2})"},
        {"Mixtral-8x22B", 140.621,
         R"({"model_type":"mixtral","hidden_size":6144,"num_hidden_layers":56,"num_attention_heads":48,"num_key_value_heads":8,"intermediate_size":16384,"vocab_size":32768,"num_local_experts":8,"num_experts_per_tok":2})"},
        {"Qwen2.5-7B", 7.616,
         R"({"model_type":"qwen2","hidden_size":3584,"num_hidden_layers":28,"num_attention_heads":28,"num_key_value_heads":4,"intermediate_size":18944,"vocab_size":152064,"tie_word_embeddings":false})"},
        {"Qwen2.5-0.5B", 0.494,
         R"({"model_type":"qwen2","hidden_size":896,"num_hidden_layers":24,"num_attention_heads":14,"num_key_value_heads":2,"intermediate_size":4864,"vocab_size":151936,"tie_word_embeddings":true})"},
        {"Qwen2.5-72B", 72.706,
         R"({"model_type":"qwen2","hidden_size":8192,"num_hidden_layers":80,"num_attention_heads":64,"num_key_value_heads":8,"intermediate_size":29568,"vocab_size":152064,"tie_word_embeddings":false})"},
        {"Qwen3-30B-A3B", 30.532,
         R"({"model_type":"qwen3_moe","hidden_size":2048,"num_hidden_layers":48,"num_attention_heads":32,"num_key_value_heads":4,"head_dim":128,"intermediate_size":6144,"moe_intermediate_size":768,"num_experts":128,"num_experts_per_tok":8,"vocab_size":151936,"tie_word_embeddings":false})"},
        {"gemma-7b", 8.538,
         R"({"model_type":"gemma","hidden_size":3072,"num_hidden_layers":28,"num_attention_heads":16,"num_key_value_heads":16,"head_dim":256,"intermediate_size":24576,"vocab_size":256000,"hidden_act":"gelu_pytorch_tanh"})"},
        {"gemma-2-9b", 9.242,
         R"({"model_type":"gemma2","hidden_size":3584,"num_hidden_layers":42,"num_attention_heads":16,"num_key_value_heads":8,"head_dim":256,"intermediate_size":14336,"vocab_size":256000})"},
        {"Phi-3-mini", 3.821,
         R"({"model_type":"phi3","hidden_size":3072,"num_hidden_layers":32,"num_attention_heads":32,"num_key_value_heads":32,"intermediate_size":8192,"vocab_size":32064,"tie_word_embeddings":false})"},
        {"phi-2", 2.78,
         R"({"model_type":"phi","hidden_size":2560,"num_hidden_layers":32,"num_attention_heads":32,"intermediate_size":10240,"vocab_size":51200,"tie_word_embeddings":false,"hidden_act":"gelu_new"})"},
        {"gpt2", 0.1244,
         R"({"model_type":"gpt2","n_embd":768,"n_layer":12,"n_head":12,"n_positions":1024,"vocab_size":50257})"},
        {"gpt2-xl", 1.5576,
         R"({"model_type":"gpt2","n_embd":1600,"n_layer":48,"n_head":25,"n_positions":1024,"vocab_size":50257})"},
        {"gpt-neox-20b", 20.554,
         R"({"model_type":"gpt_neox","hidden_size":6144,"num_hidden_layers":44,"num_attention_heads":64,"intermediate_size":24576,"vocab_size":50432,"tie_word_embeddings":false,"hidden_act":"gelu_fast"})"},
        {"opt-6.7b", 6.658,
         R"({"model_type":"opt","hidden_size":4096,"num_hidden_layers":32,"num_attention_heads":32,"ffn_dim":16384,"vocab_size":50272,"max_position_embeddings":2048})"},
        {"falcon-7b", 6.922,
         R"({"model_type":"falcon","hidden_size":4544,"num_hidden_layers":32,"num_attention_heads":71,"multi_query":true,"new_decoder_architecture":false,"vocab_size":65024})"},
        {"DeepSeek-V3", 671.026,
         R"({"model_type":"deepseek_v3","hidden_size":7168,"num_hidden_layers":61,"num_attention_heads":128,"num_key_value_heads":128,"intermediate_size":18432,"moe_intermediate_size":2048,"n_routed_experts":256,"n_shared_experts":1,"num_experts_per_tok":8,"first_k_dense_replace":3,"kv_lora_rank":512,"q_lora_rank":1536,"qk_nope_head_dim":128,"qk_rope_head_dim":64,"v_head_dim":128,"vocab_size":129280,"tie_word_embeddings":false,"hidden_act":"silu"})"},
        {"bert-base", 0.1095,
         R"({"model_type":"bert","hidden_size":768,"num_hidden_layers":12,"num_attention_heads":12,"intermediate_size":3072,"vocab_size":30522,"max_position_embeddings":512})"},
        {"whisper-large-v3", 1.543,
         R"({"model_type":"whisper","d_model":1280,"encoder_layers":32,"decoder_layers":32,"encoder_attention_heads":20,"encoder_ffn_dim":5120,"decoder_ffn_dim":5120,"vocab_size":51866,"num_mel_bins":128,"max_source_positions":1500,"max_target_positions":448})"},
    }};

TEST(ModelConfig, GivesTheParametersOfPublicModelsWithinTwoPercent) {
    for (const Config& config : kConfigs) {
        const auto shape = read_model_config(config.name, config.fields);
        ASSERT_TRUE(shape) << config.name << ": " << shape.error().message;
        EXPECT_NEAR(shape->parameters / 1e9 / config.billions, 1, 0.02)
            << config.name << ": " << shape->parameters / 1e9 << " for " << config.billions;
        EXPECT_FALSE(shape->arithmetic.empty());
    }
}

TEST(ModelConfig, AgreesWithTheTableOfKnownModels) {
    for (const Config& config : kConfigs) {
        if (config.name == "falcon-7b") continue;
        const auto known = model_by_name(config.name);
        const auto read = read_model_config(config.name, config.fields);
        ASSERT_TRUE(known && read) << config.name;
        EXPECT_NEAR(known->parameters / read->parameters, 1, 0.02) << config.name;
        if (known->kind != "decoder") continue;
        EXPECT_EQ(known->layers, read->layers) << config.name;
        EXPECT_EQ(known->kv_width, read->kv_width) << config.name;
        EXPECT_EQ(known->heads, read->heads) << config.name;
    }
}

TEST(ModelConfig, TellsWhichLayersRememberAWindowOnly) {
    const auto of = [](const std::string& fields) {
        const auto shape = read_model_config(
            "x", R"({"hidden_size":64,"num_attention_heads":4,"vocab_size":100,)" + fields + "}");
        EXPECT_TRUE(shape) << fields;
        return std::pair(shape->windowed_layers, shape->window_tokens);
    };
    const std::pair none{0U, 0U};
    using Layers = std::pair<unsigned, unsigned>;
    EXPECT_EQ(of(R"("num_hidden_layers":4,"model_type":"llama")"), none);
    EXPECT_EQ(of(R"("num_hidden_layers":42,"model_type":"gemma2","sliding_window":4096)"),
              Layers(21, 4096));
    EXPECT_EQ(of(R"("num_hidden_layers":62,"model_type":"gemma3_text","sliding_window":1024)"),
              Layers(52, 1024));
    EXPECT_EQ(of(R"("num_hidden_layers":26,"model_type":"gemma3_text","sliding_window":512,)"
                 R"("sliding_window_pattern":6)"),
              Layers(22, 512));
    EXPECT_EQ(
        of(R"("num_hidden_layers":4,"model_type":"gpt_oss","sliding_window":128,"layer_types":)"
           R"(["sliding_attention","full_attention","sliding_attention","full_attention"])"),
        Layers(2, 128));
    EXPECT_EQ(of(R"("num_hidden_layers":32,"model_type":"mistral","sliding_window":4096)"),
              Layers(32, 4096));
    EXPECT_EQ(of(R"("num_hidden_layers":32,"model_type":"mistral","sliding_window":null)"), none);
    EXPECT_EQ(of(R"("num_hidden_layers":28,"model_type":"qwen2","sliding_window":131072,)"
                 R"("use_sliding_window":false,"max_window_layers":28)"),
              none);
    EXPECT_EQ(of(R"("num_hidden_layers":28,"model_type":"qwen2","sliding_window":4096,)"
                 R"("use_sliding_window":true,"max_window_layers":21)"),
              Layers(7, 4096));
    // Not told which layers: none.
    EXPECT_EQ(of(R"("num_hidden_layers":4,"model_type":"other","sliding_window":128)"), none);
    EXPECT_EQ(of(R"("num_hidden_layers":2,"model_type":"x","sliding_window":8,"layer_types":)"
                 R"(["sliding_attention","sliding_attention","sliding_attention"])"),
              none);
    EXPECT_EQ(of(R"("num_hidden_layers":2,"model_type":"gemma2","sliding_window":-5)"), none);
    const auto table = model_by_name("gemma-3-27b");
    ASSERT_TRUE(table);
    EXPECT_EQ(Layers(table->windowed_layers, table->window_tokens), Layers(52, 1024));
}

TEST(ModelConfig, OfAMixtureTellsWhatIsActive) {
    for (const Config& config : kConfigs) {
        if (config.name != "Mixtral-8x7B") continue;
        const auto shape = read_model_config(config.name, config.fields);
        EXPECT_NEAR(shape->active_parameters / 1e9, 12.9, 0.2);
    }
}

TEST(ModelConfig, WithoutAShapeIsRefused) {
    const auto error = [](std::string_view text) {
        const auto shape = read_model_config("config.json", text);
        return shape ? std::string() : shape.error().message;
    };
    EXPECT_EQ(error("{}"), "config.json: has no 'hidden_size' above 0; is it a config.json?");
    EXPECT_NE(error("[1]").find("a JSON object is expected"), std::string::npos);
    EXPECT_NE(error("{\"a\": ").find("config.json:1:"), std::string::npos);
    EXPECT_NE(
        error(
            R"({"hidden_size":1e9,"num_hidden_layers":1e9,"num_attention_heads":1,"vocab_size":1e9})")
            .find("larger than any"),
        std::string::npos);
    EXPECT_NE(error(R"({"hidden_size":-5,"num_hidden_layers":2})").find("hidden_size"),
              std::string::npos);
}

std::string safetensors(const std::string& header) {
    std::string bytes(8, '\0');
    for (std::size_t i = 0; i < 8; ++i) {
        bytes[i] = static_cast<char>((header.size() >> (8 * i)) & 0xffU);
    }
    return bytes + header;
}

TEST(Safetensors, HeaderGivesExactParametersAndBytes) {
    const auto shape = read_safetensors(
        "model.safetensors",
        safetensors(R"({"__metadata__":{"format":"pt"},"a":{"dtype":"F16","shape":[4096,1024],)"
                    R"("data_offsets":[0,8388608]},"b":{"dtype":"F32","shape":[10],)"
                    R"("data_offsets":[8388608,8388648]}})") +
            "weights that nobody reads");
    ASSERT_TRUE(shape) << shape.error().message;
    EXPECT_DOUBLE_EQ(shape->parameters, 4096.0 * 1024 + 10);
    EXPECT_DOUBLE_EQ(shape->weight_bytes, 2 * 4096.0 * 1024 + 40);
}

TEST(Safetensors, HeadersThatAreNoneAreRefused) {
    EXPECT_FALSE(read_safetensors("x", ""));
    EXPECT_FALSE(read_safetensors("x", "1234567"));
    EXPECT_FALSE(read_safetensors("x", std::string(8, '\xff')));
    EXPECT_FALSE(read_safetensors("x", safetensors("{}").substr(0, 9)));
    EXPECT_FALSE(read_safetensors("x", safetensors("{}")));
    EXPECT_FALSE(read_safetensors("x", safetensors("[]")));
    EXPECT_FALSE(read_safetensors("x", safetensors(R"({"a":{"dtype":"F99","shape":[1]}})")));
    EXPECT_FALSE(read_safetensors("x", safetensors(R"({"a":{"dtype":"F16","shape":[-1]}})")));
    EXPECT_FALSE(
        read_safetensors("x", safetensors(R"({"a":{"dtype":"F16","shape":[1e200,1e200]}})")));
}

TEST(ModelName, WithASizeIsEnough) {
    EXPECT_NEAR(model_by_name("acme/foo-13b-chat")->parameters, 13e9, 1);
    EXPECT_NEAR(model_by_name("foo-1.5B")->parameters, 1.5e9, 1);
    EXPECT_NEAR(model_by_name("foo-350m")->parameters, 350e6, 1);
    EXPECT_NEAR(model_by_name("foo-8x7B")->parameters, 47e9, 1e9);
    EXPECT_EQ(model_by_name("foo-13b")->certainty, Certainty::kGuessed);
    EXPECT_GT(model_by_name("foo-13b")->layers, 0U);
    EXPECT_FALSE(model_by_name("foo"));
    EXPECT_FALSE(model_by_name("b2b-7bit"));
    EXPECT_FALSE(model_by_name(""));
    EXPECT_NE(model_by_name("lama-3").error().message.find("is not known"), std::string::npos);
}

TEST(ModelName, WithASizeBehindLettersIsReadWholeOrNotAtAll) {
    EXPECT_NEAR(model_by_name("finetuned-llama70b")->parameters, 70e9, 1);
    for (const std::string_view active : {"acme-a13b", "foo-A3B-Instruct"}) {
        const auto shape = model_by_name(active);
        ASSERT_FALSE(shape) << active;
        EXPECT_NE(shape.error().message.find("work on a token"), std::string::npos) << active;
    }
    EXPECT_FALSE(model_by_name("foo-e4b"));
    EXPECT_NEAR(model_by_name("hunyuan-a13b")->parameters, 80e9, 1e9);
}

TEST(ModelName, OfVideoPicturesAndSpeechIsNotReckonedAsALanguageModel) {
    for (const std::string_view name :
         {"wan2.1-14b", "Wan-AI/Wan2.2-A14B", "cogvideox-5b", "nvidia/parakeet-tdt-0.6b-v2",
          "canary-1b", "qwen-image-20b"}) {
        const auto shape = model_by_name(name);
        ASSERT_FALSE(shape) << name;
        EXPECT_NE(shape.error().message.find("pictures, video or sound"), std::string::npos)
            << name;
    }
}

TEST(ModelName, FindsModelsByTheNamesThatTheyGoBy) {
    for (const auto& [name, billions] : {std::pair{"mistralai/Mistral-Large-Instruct-2407", 122.61},
                                         {"codestral", 22.247},
                                         {"deepseek-ai/DeepSeek-V2.5", 235.741},
                                         {"deepseek-ai/DeepSeek-V3.2-Exp", 671.026},
                                         {"openai/gpt-oss-safeguard-20b", 20.914},
                                         {"gemma3n:e4b", 7.85},
                                         {"CohereForAI/c4ai-command-r7b-12-2024", 8.028},
                                         {"BAAI/bge-base-en-v1.5", 0.11},
                                         {"distil-large-v3", 0.756},
                                         {"black-forest-labs/FLUX.1-Kontext-dev", 16.87}}) {
        const auto shape = model_by_name(name);
        ASSERT_TRUE(shape) << name << ": " << shape.error().message;
        EXPECT_NEAR(shape->parameters / 1e9, billions, 0.001) << name;
    }
}

}  // namespace
}  // namespace aliquot::sizing
