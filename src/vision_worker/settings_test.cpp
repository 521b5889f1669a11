// SPDX-License-Identifier: Apache-2.0
#include "vision_worker/settings.h"

#include <gmock/gmock.h>

namespace aliquot::vision_worker {
namespace {

using testing::HasSubstr;
using Environment = std::map<std::string, std::string>;

Settings read(const std::vector<const char*>& words, const Environment& environment = {}) {
    std::vector<const char*> all{"aliquot-vision"};
    all.insert(all.end(), words.begin(), words.end());
    const auto result = read_settings(static_cast<int>(all.size()), all.data(), environment);
    if (const auto* exit = std::get_if<EarlyExit>(&result)) {
        ADD_FAILURE() << exit->text;
        return {};
    }
    return std::get<Settings>(result);
}

std::string refusal(const std::vector<const char*>& words, const Environment& environment = {}) {
    std::vector<const char*> all{"aliquot-vision"};
    all.insert(all.end(), words.begin(), words.end());
    const auto result = read_settings(static_cast<int>(all.size()), all.data(), environment);
    const auto* const exit = std::get_if<EarlyExit>(&result);
    if (exit == nullptr) return "none";
    EXPECT_EQ(exit->exit_code, 2);
    EXPECT_TRUE(exit->to_stderr);
    return exit->text;
}

TEST(Settings, TheEnvironmentOfTheCatWatcherIsUnderstood) {
    const Settings settings =
        read({"--model", "m.onnx"}, {{"CAT_WATCHER__INFERENCE__GPU_MEMORY_LIMIT", "2048"},
                                     {"TF_FORCE_GPU_ALLOW_GROWTH", "true"},
                                     {"CUDA_VISIBLE_DEVICES", "0"}});
    EXPECT_EQ(settings.gpu_memory_bytes, std::uint64_t{2} << 30U);
    ASSERT_EQ(settings.notes.size(), 1U);
    EXPECT_THAT(settings.notes[0], HasSubstr("TensorFlow"));
}

TEST(Settings, OptionsComeBeforeTheEnvironment) {
    const Environment environment{{"ALIQUOT_VISION_MODEL", "other.onnx"},
                                  {"ALIQUOT_VISION_GPU_MEMORY_LIMIT", "1Gi"},
                                  {"CAT_WATCHER__INFERENCE__GPU_MEMORY_LIMIT", "2048"},
                                  {"ALIQUOT_VISION_BATCH", "4"},
                                  {"ALIQUOT_VISION_PROVIDER", "cpu"}};
    EXPECT_EQ(read({}, environment).model, "other.onnx");
    EXPECT_EQ(read({}, environment).gpu_memory_bytes, std::uint64_t{1} << 30U);
    EXPECT_EQ(read({}, environment).most_batch, 4U);
    EXPECT_EQ(read({}, environment).providers.size(), 1U);
    const Settings settings = read(
        {"--model", "m.onnx", "--gpu-memory-limit", "512Mi", "--batch", "16", "--provider", "cuda"},
        environment);
    EXPECT_EQ(settings.model, "m.onnx");
    EXPECT_EQ(settings.gpu_memory_bytes, std::uint64_t{512} << 20U);
    EXPECT_EQ(settings.most_batch, 16U);
    EXPECT_TRUE(settings.gpu_wanted);
}

TEST(Settings, TheDeviceHasAsLongAsAPictureUnlessTold) {
    using std::chrono::seconds;
    EXPECT_EQ(read({"--model", "m.onnx"}).run_limit, seconds(10));
    EXPECT_EQ(read({"--model", "m.onnx", "--timeout", "2s"}).run_limit, seconds(2));
    EXPECT_EQ(read({"--model", "m.onnx", "--run-limit", "1m"}).run_limit, seconds(60));
}

TEST(Settings, WhatIsWrongIsSaidWithWhatIsExpected) {
    EXPECT_THAT(refusal({}), HasSubstr("--model: is needed"));
    EXPECT_THAT(refusal({"--model", "yolov8n.engine"}), HasSubstr("an engine of TensorRT"));
    EXPECT_THAT(refusal({"--model", "yolov8n.pt"}), HasSubstr("export it to ONNX"));
    EXPECT_THAT(refusal({"--model", "m.onnx", "--mean", "1,2"}), HasSubstr("three numbers"));
    EXPECT_THAT(refusal({"--model", "m.onnx", "--deviation", "1,0,1"}), HasSubstr("not above 0"));
    EXPECT_THAT(refusal({"--model", "m.onnx", "--batch-wait", "1h"}), HasSubstr("--batch-wait"));
    EXPECT_THAT(refusal({"--model", "m.onnx", "--timeout", "1ms"}), HasSubstr("--timeout"));
    EXPECT_THAT(refusal({"--model", "m.onnx", "--run-limit", "1ms"}), HasSubstr("--run-limit"));
    EXPECT_THAT(refusal({"--model", "m.onnx", "--run-limit", "2h"}), HasSubstr("--run-limit"));
    EXPECT_THAT(refusal({"--model", "m.onnx", "--gpu-memory-limit", "lots"}),
                HasSubstr("--gpu-memory-limit"));
    EXPECT_THAT(refusal({"--model", "m.onnx", "--most-body", "1Gi"}), HasSubstr("1Ki to 256Mi"));
    EXPECT_THAT(refusal({"--model", "m.onnx", "--listen", "nowhere"}), HasSubstr("--listen"));
    EXPECT_THAT(
        refusal({"--model", "m.onnx"}, {{"CAT_WATCHER__INFERENCE__GPU_MEMORY_LIMIT", "2Gi"}}),
        HasSubstr("not a number of MiB"));
    EXPECT_THAT(refusal({"--model", "m.onnx"}, {{"ALIQUOT_VISION_PROVIDER", "tpu"}}),
                HasSubstr("'tpu'"));
    EXPECT_THAT(refusal({"--model", "m.onnx"}, {{"ALIQUOT_VISION_BATCH", "many"}}),
                HasSubstr("not 0 to 1024"));
}

}  // namespace
}  // namespace aliquot::vision_worker
