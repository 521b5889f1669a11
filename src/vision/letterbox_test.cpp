// SPDX-License-Identifier: Apache-2.0
#include "vision/letterbox.h"

#include <gtest/gtest.h>

#include "vision/test_pictures.h"

namespace aliquot::vision {
namespace {

constexpr float kGrey = 114.0F / 255.0F;

struct Written {
    std::vector<float> numbers;
    Placement placement;
    InputForm form;
    [[nodiscard]] float at(std::size_t plane, std::size_t x, std::size_t y) const {
        return numbers[(plane * form.height + y) * form.width + x];
    }
};

Written write(const Image& image, const InputForm& form) {
    Written written{.numbers = std::vector<float>(input_size(form), -1.0F), .form = form};
    written.placement = write_input(image, form, written.numbers);
    return written;
}

TEST(Letterbox, AWidePictureHasGreyAboveAndBelow) {
    const Written seen = write(plain(200, 100, {255, 0, 51}), {.width = 100, .height = 100});
    EXPECT_FLOAT_EQ(seen.at(0, 50, 24), kGrey);
    EXPECT_FLOAT_EQ(seen.at(0, 50, 25), 1.0F);
    EXPECT_FLOAT_EQ(seen.at(1, 50, 74), 0.0F);
    EXPECT_FLOAT_EQ(seen.at(2, 50, 74), 0.2F);
    EXPECT_FLOAT_EQ(seen.at(2, 50, 75), kGrey);
    EXPECT_DOUBLE_EQ(seen.placement.scale_x, 0.5);
    EXPECT_DOUBLE_EQ(seen.placement.left, 0);
    EXPECT_DOUBLE_EQ(seen.placement.top, 25);
}

TEST(Letterbox, ATallPictureHasGreyLeftAndRight) {
    const Written seen = write(plain(50, 200, {255, 255, 255}), {.width = 100, .height = 100});
    EXPECT_FLOAT_EQ(seen.at(0, 36, 50), kGrey);
    EXPECT_FLOAT_EQ(seen.at(0, 37, 50), 1.0F);
    EXPECT_FLOAT_EQ(seen.at(0, 61, 50), 1.0F);
    EXPECT_FLOAT_EQ(seen.at(0, 62, 50), kGrey);
    EXPECT_DOUBLE_EQ(seen.placement.left, 37);
    EXPECT_DOUBLE_EQ(seen.placement.scale_y, 0.5);
}

TEST(Letterbox, EveryNumberIsWrittenForAnySize) {
    for (const std::uint32_t width : {1U, 2U, 7U, 63U, 64U, 65U, 300U}) {
        for (const std::uint32_t height : {1U, 3U, 64U, 129U}) {
            for (const auto fit : {InputForm::Fit::kLetterbox, InputForm::Fit::kCrop}) {
                const Written seen =
                    write(gradient(width, height), {.width = 64, .height = 48, .fit = fit});
                for (const float number : seen.numbers) {
                    ASSERT_GE(number, 0.0F) << width << "x" << height;
                    ASSERT_LE(number, 1.0F) << width << "x" << height;
                }
            }
        }
    }
}

TEST(Letterbox, CentresOfPixelsMeetWhenAPictureGrowsOrShrinks) {
    // A ramp stays a ramp: its middle stays the middle.
    for (const std::uint32_t width : {16U, 100U, 640U}) {
        const Written seen = write(gradient(width, width), {.width = 64, .height = 64});
        EXPECT_NEAR((seen.at(0, 31, 10) + seen.at(0, 32, 10)) / 2, 0.5F, 0.01F) << width;
        EXPECT_NEAR((seen.at(1, 10, 31) + seen.at(1, 10, 32)) / 2, 0.5F, 0.01F) << width;
    }
}

TEST(Letterbox, AClassifierSeesTheMiddleWithMeanAndDeviation) {
    const InputForm form{.width = 32,
                         .height = 32,
                         .fit = InputForm::Fit::kCrop,
                         .resize = 64,
                         .mean = {0.5F, 0.5F, 0.5F},
                         .deviation = {0.25F, 0.5F, 1.0F}};
    const Written seen = write(plain(128, 64, {255, 255, 255}), form);
    EXPECT_FLOAT_EQ(seen.at(0, 0, 0), 2.0F);
    EXPECT_FLOAT_EQ(seen.at(1, 0, 0), 1.0F);
    EXPECT_FLOAT_EQ(seen.at(2, 31, 31), 0.5F);
    const Written ramp = write(
        gradient(128, 64), {.width = 32, .height = 32, .fit = InputForm::Fit::kCrop, .resize = 64});
    EXPECT_NEAR(ramp.at(0, 0, 16), 48.5F / 127, 0.01F);
    EXPECT_DOUBLE_EQ(ramp.placement.left, -48);
    EXPECT_DOUBLE_EQ(ramp.placement.top, -16);
}

TEST(Letterbox, PlacesAreOfTheFileWhereAPictureWasDecodedSmaller) {
    Image image = gradient(400, 200);
    image.file_width = 1600;
    image.file_height = 800;
    const Written seen = write(image, {.width = 100, .height = 100});
    EXPECT_DOUBLE_EQ(seen.placement.scale_x, 100.0 / 1600);
    EXPECT_DOUBLE_EQ(seen.placement.top, 25);
}

}  // namespace
}  // namespace aliquot::vision
