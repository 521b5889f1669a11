// SPDX-License-Identifier: Apache-2.0
#include "sim/onnxruntime/model.h"

#include <gmock/gmock.h>

#include "onnx/test_model.h"

namespace aliquot::sim {
namespace {

using testing::ElementsAre;

TEST(OnnxModel, PortsMetadataAndTheAnswerAreRead) {
    const std::string bytes =
        onnx::write_model({.input = {-1, 3, 640, 640},
                           .output = {-1, 1, 6},
                           .answer = {1, 2, 3, 4, 0.5F, 7},
                           .metadata = {{"simulated.sample_mib", "64"}, {"task", "detect"}}});
    const auto model = read_model(bytes);
    ASSERT_TRUE(model.ok()) << model.error().message;
    ASSERT_EQ(model->inputs.size(), 1U);
    EXPECT_EQ(model->inputs[0].name, "images");
    EXPECT_THAT(model->inputs[0].shape, ElementsAre(-1, 3, 640, 640));
    EXPECT_THAT(model->answer, ElementsAre(1, 2, 3, 4, 0.5F, 7));
    EXPECT_EQ(model->number("simulated.sample_mib", 1), 64U);
    EXPECT_EQ(model->number("task", 5), 5U);
    EXPECT_EQ(model->number("none", 5), 5U);
}

TEST(OnnxModel, WhatIsCutOffIsAnErrorOrHasNoPorts) {
    const std::string bytes = onnx::write_model(
        {.input = {-1, 3, 2, 2}, .output = {-1, 1, 6}, .answer = {1, 2, 3, 4, 5, 6}});
    ASSERT_TRUE(read_model(bytes).ok());
    for (std::size_t length = 0; length + 8 < bytes.size(); ++length) {
        EXPECT_FALSE(read_model(std::string_view(bytes).substr(0, length)).ok()) << length;
    }
    EXPECT_FALSE(read_model("no model").ok());
    EXPECT_FALSE(read_model(std::string(100, '\xff')).ok());
}

}  // namespace
}  // namespace aliquot::sim
