// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "vision/test_pictures.h"

namespace aliquot::vision {
namespace {

using testing::HasSubstr;

TEST(ImageHeader, TellsFormatAndSizeOfEachFormat) {
    const Image image = gradient(33, 17);
    const struct {
        std::string bytes;
        ImageFormat format;
    } cases[] = {{as_jpeg(image), ImageFormat::kJpeg},
                 {as_jpeg(image, {.progressive = true, .orientation = 6}), ImageFormat::kJpeg},
                 {as_png(image), ImageFormat::kPng},
                 {as_webp(image, true), ImageFormat::kWebp},
                 {as_webp(image, false), ImageFormat::kWebp}};
    for (const auto& one : cases) {
        const auto header = read_image_header(one.bytes);
        ASSERT_TRUE(header.ok()) << header.error().message;
        EXPECT_EQ(header->format, one.format);
        EXPECT_EQ(header->width, 33U);
        EXPECT_EQ(header->height, 17U);
    }
}

TEST(ImageHeader, AHeaderThatIsCutOffAnywhereIsAnErrorAndNeverAnotherSize) {
    const Image image = gradient(33, 17);
    for (const std::string& bytes :
         {as_jpeg(image), as_png(image), as_webp(image, true), as_webp(image, false)}) {
        for (std::size_t length = 0; length < std::min<std::size_t>(bytes.size(), 700); ++length) {
            const auto header = read_image_header(std::string_view(bytes).substr(0, length));
            if (header.ok()) {
                EXPECT_EQ(header->width, 33U);
                EXPECT_EQ(header->height, 17U);
            } else {
                EXPECT_THAT(header.error().message, HasSubstr("image"));
            }
        }
    }
}

TEST(ImageHeader, NamesWhatWasSentInstead) {
    using namespace std::string_literals;
    const struct {
        std::string bytes;
        std::string what;
    } cases[] = {{"GIF89a....", "a GIF"},
                 {"BM....", "a BMP"},
                 {"%PDF-1.7", "a PDF"},
                 {"\0\0\0\x20"s + "ftypavif", "an AVIF"},
                 {"{\"image\": 1}", "JSON"},
                 {"<!DOCTYPE html>", "HTML"},
                 {"\0\0\0\x20"s + "ftypisom", "a video"},
                 {"hello", "something else"}};
    for (const auto& one : cases) {
        const auto header = read_image_header(one.bytes);
        ASSERT_FALSE(header.ok()) << one.what;
        EXPECT_EQ(header.error().code, ErrorCode::kUnsupported);
        EXPECT_THAT(header.error().message, HasSubstr(one.what));
        EXPECT_THAT(header.error().message, HasSubstr("expected a JPEG, a PNG or a WebP"));
    }
    EXPECT_THAT(read_image_header("").error().message, HasSubstr("no bytes"));
}

TEST(ImageHeader, APictureOverTheLimitsIsRefusedByWhatItsHeaderSays) {
    EXPECT_THAT(read_image_header(png_bomb(60'000, 60'000)).error().message,
                HasSubstr("60000x60000 pixels; expected at most 16384 a side"));
    EXPECT_THAT(read_image_header(png_bomb(16'000, 16'000)).error().message,
                HasSubstr("40000000 in all"));
    EXPECT_FALSE(read_image_header(png_bomb(0, 10)).ok());
    EXPECT_FALSE(read_image_header(png_bomb(0xFFFFFFFF, 0xFFFFFFFF)).ok());
    EXPECT_TRUE(read_image_header(png_bomb(16'384, 2'000)).ok());
    EXPECT_FALSE(read_image_header(png_bomb(33, 17), {.most_side = 32}).ok());
}

}  // namespace
}  // namespace aliquot::vision
