// SPDX-License-Identifier: Apache-2.0
#include "onnx/session.h"

#include <gmock/gmock.h>

#include <cmath>

#include "onnx/half.h"
#include "onnx/test_model.h"

namespace aliquot::onnx {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::string kSimulated = ALIQUOT_SIM_DIR "/onnxruntime/libonnxruntime.so.1";

/// With the simulated library, and with the real one where it is.
class AnyRuntime : public testing::TestWithParam<bool> {
protected:
    void SetUp() override {
        const std::string file = GetParam() ? real_library() : kSimulated;
        if (file.empty())
            GTEST_SKIP()
                << "no ONNX Runtime in build/onnxruntime: tests/vision/get_onnxruntime brings one";
        auto loaded = Runtime::load({file});
        ASSERT_TRUE(loaded.ok()) << loaded.error().message;
        runtime_ = *loaded;
    }
    Result<std::unique_ptr<Session>> session(const std::string& model) {
        return Session::make(runtime_, model, {.providers = {Provider::kCpu}, .threads = 1});
    }
    std::shared_ptr<const Runtime> runtime_;
};
INSTANTIATE_TEST_SUITE_P(Runtime, AnyRuntime, testing::Bool(),
                         [](const auto& of) { return of.param ? "Real" : "Simulated"; });

TestModel detector() {
    return {.input = {-1, 3, 4, 4},
            .output = {-1, 2, 6},
            .answer = {1, 2, 3, 4, 0.9F, 0, 5, 6, 7, 8, 0.5F, 1},
            .metadata = {{"names", "{0: 'cat', 1: 'dog'}"}}};
}

TEST_P(AnyRuntime, AModelSaysWhatItTakesAndGives) {
    const auto made = session(write_model(detector()));
    ASSERT_TRUE(made.ok()) << made.error().message;
    const Session& one = **made;
    EXPECT_EQ(one.provider(), Provider::kCpu);
    ASSERT_EQ(one.inputs().size(), 1U);
    EXPECT_EQ(one.inputs()[0].name, "images");
    EXPECT_EQ(one.inputs()[0].type, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT);
    EXPECT_THAT(one.inputs()[0].shape, ElementsAre(-1, 3, 4, 4));
    EXPECT_THAT(one.outputs()[0].shape, ElementsAre(-1, 2, 6));
    EXPECT_EQ(one.metadata("names"), "{0: 'cat', 1: 'dog'}");
    EXPECT_EQ(one.metadata("task"), "");
}

TEST_P(AnyRuntime, EachPictureOfABatchHasItsNumbers) {
    const auto made = session(write_model(detector()));
    ASSERT_TRUE(made.ok()) << made.error().message;
    for (const std::int64_t batch : {1, 3, 8}) {
        const std::vector<float> numbers(static_cast<std::size_t>(batch) * 48, 0.5F);
        const auto output = (*made)->run(numbers, std::array<std::int64_t, 4>{batch, 3, 4, 4});
        ASSERT_TRUE(output.ok()) << output.error().message;
        EXPECT_THAT(output->shape, ElementsAre(batch, 2, 6));
        ASSERT_EQ(output->numbers.size(), static_cast<std::size_t>(batch) * 12);
        EXPECT_FLOAT_EQ(output->numbers[(static_cast<std::size_t>(batch) - 1) * 12 + 4], 0.9F);
    }
}

TEST_P(AnyRuntime, AWrongShapeAndAFileThatIsNoModelAreErrors) {
    const auto made = session(write_model(detector()));
    ASSERT_TRUE(made.ok()) << made.error().message;
    const std::vector<float> numbers(75, 0.5F);
    const auto output = (*made)->run(numbers, std::array<std::int64_t, 4>{1, 3, 5, 5});
    ASSERT_FALSE(output.ok());
    EXPECT_EQ(output.error().code, ErrorCode::kInvalidInput);
    EXPECT_THAT(output.error().message, HasSubstr("invalid dimensions"));
    const auto none = session("this is no model");
    ASSERT_FALSE(none.ok());
    EXPECT_EQ(none.error().code, ErrorCode::kInvalidInput);
    EXPECT_THAT(none.error().message, HasSubstr("model: "));
}

TEST_P(AnyRuntime, AProviderThatDoesNotWorkHereIsSaidAndTheNextTaken) {
    const auto made = Session::make(runtime_, write_model(detector()), {.threads = 1});
    ASSERT_TRUE(made.ok()) << made.error().message;
    EXPECT_EQ((*made)->provider(), Provider::kCpu);
    EXPECT_EQ((*made)->refused().size(), 2U);
    const auto only =
        Session::make(runtime_, write_model(detector()), {.providers = {Provider::kTensorRt}});
    ASSERT_FALSE(only.ok());
    EXPECT_THAT(only.error().message, HasSubstr("no provider can run the model"));
}

TEST(Runtime, ALibraryThatIsNotThereOrNoOnnxRuntimeIsAnError) {
    EXPECT_EQ(Runtime::load({"/no/such/file.so"}).error().code, ErrorCode::kNotFound);
    const auto other = Runtime::load({"libm.so.6"});
    ASSERT_FALSE(other.ok());
    EXPECT_THAT(other.error().message, HasSubstr("no ONNX Runtime"));
}

TEST(Runtime, OutOfMemoryIsToldByItsWords) {
    EXPECT_TRUE(is_out_of_memory(
        "Non-zero status: Failed to allocate memory for requested buffer of size 12"));
    EXPECT_TRUE(is_out_of_memory("CUDA failure 2: out of memory ; GPU=0"));
    EXPECT_FALSE(is_out_of_memory("Got invalid dimensions"));
}

TEST(Half, NumbersGoThereAndBack) {
    for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
        const std::vector<std::uint16_t> half{static_cast<std::uint16_t>(bits)};
        const auto number = from_half(half);
        if (std::isnan(number[0])) {
            EXPECT_TRUE(std::isnan(from_half(to_half(number))[0]));
        } else {
            ASSERT_EQ(to_half(number)[0], bits) << number[0];
        }
    }
    EXPECT_EQ(from_half(to_half(std::vector<float>{1e9F}))[0], INFINITY);
    EXPECT_EQ(to_half(std::vector<float>{65519.0F})[0], 0x7BFF);
    EXPECT_EQ(to_half(std::vector<float>{1.0F + 1.0F / 2048})[0], 0x3C00)
        << "a tie goes to the even one";
    EXPECT_EQ(to_half(std::vector<float>{1.0F + 3.0F / 2048})[0], 0x3C02);
}

}  // namespace
}  // namespace aliquot::onnx
