// SPDX-License-Identifier: Apache-2.0
#include "vision_worker/engine.h"

#include <gmock/gmock.h>

#include "onnx/test_model.h"

namespace aliquot::vision_worker {
namespace {

using testing::HasSubstr;

/// A worker's engine on the simulated runtime, where a batch of more than `fits` is out of memory.
class EngineMemory : public testing::Test {
protected:
    Result<std::unique_ptr<Engine>> engine(unsigned fits, std::size_t asked) {
        Settings settings;
        settings.providers = {onnx::Provider::kCpu};
        settings.most_batch = asked;
        auto runtime = onnx::Runtime::load({ALIQUOT_SIM_DIR "/onnxruntime/libonnxruntime.so.1"});
        if (!runtime) return std::move(runtime).error();
        const std::string model =
            onnx::write_model({.input = {-1, 3, 8, 8},
                               .output = {-1, 1, 6},
                               .answer = {1, 2, 3, 4, 0.5F, 0},
                               .metadata = {{"simulated.batch_most", std::to_string(fits)}}});
        return Engine::make(*runtime, model, settings, metrics_, clock_);
    }
    static Result<std::vector<RawAnswer>> run(Engine& engine, std::size_t count) {
        const Input grey{.numbers = std::vector<float>(vision::input_size(engine.form()), 0.5F)};
        return engine.run(std::vector<const Input*>(count, &grey));
    }

    os::ManualClock clock_;
    Metrics metrics_;
};

TEST_F(EngineMemory, ABatchThatDoesNotFitIsHalvedBeforeAnybodyAsks) {
    const auto made = engine(4, 16);
    ASSERT_TRUE(made.ok()) << made.error().message;
    EXPECT_EQ((*made)->most(), 4U);
    EXPECT_EQ(metrics_.out_of_memory, 2U);
    EXPECT_EQ(metrics_.session_rebuilds, 2U);
    const auto answers = run(**made, 10);
    ASSERT_TRUE(answers.ok()) << answers.error().message;
    ASSERT_EQ(answers->size(), 10U);
    EXPECT_FLOAT_EQ((*answers)[9][4], 0.5F);
}

struct FreeSize {
    std::string imgsz;
    std::uint32_t side;
    std::uint32_t height;
    std::uint32_t width;
};

class EngineSize : public testing::TestWithParam<FreeSize> {};

TEST_P(EngineSize, IsThatOfTheModelUnlessSaidOtherwise) {
    Settings settings;
    settings.providers = {onnx::Provider::kCpu};
    settings.side = GetParam().side;
    auto runtime = onnx::Runtime::load({ALIQUOT_SIM_DIR "/onnxruntime/libonnxruntime.so.1"});
    ASSERT_TRUE(runtime.ok()) << runtime.error().message;
    const std::string model = onnx::write_model({.input = {-1, 3, -1, -1},
                                                 .output = {-1, 1, 6},
                                                 .answer = {1, 2, 3, 4, 0.5F, 0},
                                                 .metadata = {{"imgsz", GetParam().imgsz}}});
    os::ManualClock clock;
    Metrics metrics;
    const auto engine = Engine::make(*runtime, model, settings, metrics, clock);
    ASSERT_TRUE(engine.ok()) << engine.error().message;
    EXPECT_EQ((*engine)->form().height, GetParam().height);
    EXPECT_EQ((*engine)->form().width, GetParam().width);
}

INSTANTIATE_TEST_SUITE_P(
    Models, EngineSize,
    testing::Values(FreeSize{"[320, 320]", 0, 320, 320}, FreeSize{"[96, 128]", 0, 96, 128},
                    FreeSize{"[96, 128]", 64, 64, 64}, FreeSize{"", 0, 640, 640},
                    FreeSize{"[0, 0]", 0, 640, 640}, FreeSize{"[320]", 0, 640, 640},
                    FreeSize{"[999999, 8]", 0, 640, 640}, FreeSize{"320, 320", 0, 640, 640}));

TEST_F(EngineMemory, AfterATimeItTriesALargerBatchAndWhoAskedIsAnsweredAllTheSame) {
    const auto made = engine(4, 16);
    ASSERT_TRUE(made.ok()) << made.error().message;
    clock_.advance(std::chrono::seconds(119));
    ASSERT_TRUE(run(**made, 10).ok());
    EXPECT_EQ(metrics_.out_of_memory, 2U) << "not yet";
    clock_.advance(std::chrono::seconds(2));
    const auto answers = run(**made, 10);
    ASSERT_TRUE(answers.ok()) << answers.error().message;
    EXPECT_EQ(answers->size(), 10U);
    EXPECT_EQ(metrics_.out_of_memory, 3U) << "eight were tried";
    EXPECT_EQ((*made)->most(), 4U);
    clock_.advance(std::chrono::seconds(121));
    ASSERT_TRUE(run(**made, 10).ok());
    EXPECT_EQ(metrics_.out_of_memory, 3U) << "each failure makes it more patient";
}

TEST_F(EngineMemory, WhereNotOnePictureFitsItDoesNotStart) {
    const auto made = engine(0, 4);
    ASSERT_FALSE(made.ok());
    EXPECT_EQ(made.error().code, ErrorCode::kConflict);
    EXPECT_THAT(made.error().message,
                HasSubstr("warm-up with a batch of 1: run: Failed to allocate memory"));
}

}  // namespace
}  // namespace aliquot::vision_worker
