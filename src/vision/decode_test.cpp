// SPDX-License-Identifier: Apache-2.0
#include "vision/decode.h"

#include <gmock/gmock.h>

#include "vision/test_pictures.h"

namespace aliquot::vision {
namespace {

using testing::HasSubstr;

TEST(Decode, GivesBackWhatWasWritten) {
    const Image image = gradient(70, 50);
    const struct {
        std::string bytes;
        int lost;
    } cases[] = {{as_png(image), 0},
                 {as_webp(image, true), 0},
                 {as_jpeg(image), 12},
                 {as_jpeg(image, {.progressive = true}), 12},
                 {as_webp(image, false), 40}};
    for (const auto& one : cases) {
        const auto decoded = decode_image(one.bytes);
        ASSERT_TRUE(decoded.ok()) << decoded.error().message;
        EXPECT_LE(difference(*decoded, image), one.lost);
        EXPECT_EQ(decoded->file_width, 70U);
    }
}

TEST(Decode, AGreyJpegHasThreeEqualColours) {
    const auto decoded = decode_image(as_jpeg(gradient(40, 8), {.grey = true}));
    ASSERT_TRUE(decoded.ok());
    for (std::size_t i = 0; i < decoded->pixels.size(); i += 3) {
        EXPECT_EQ(decoded->pixels[i], decoded->pixels[i + 1]);
        EXPECT_EQ(decoded->pixels[i], decoded->pixels[i + 2]);
    }
}

TEST(Decode, WhatIsTransparentShowsGrey) {
    const auto decoded = decode_image(as_png_with_alpha(plain(4, 4, {255, 0, 0}), 0));
    ASSERT_TRUE(decoded.ok()) << decoded.error().message;
    EXPECT_NEAR(decoded->pixels[0], 114, 1);
    EXPECT_NEAR(decoded->pixels[1], 114, 1);
}

TEST(Decode, APhotographIsTurnedAsItsCameraSays) {
    // Red grows to the right, green downwards: where they are largest tells how the picture lies.
    const Image image = gradient(64, 32);
    struct Corner {
        int red;
        int green;
    };
    const auto corner = [](const Image& of, bool right, bool below) {
        const std::size_t x = right ? of.width - 1 : 0;
        const std::size_t y = below ? of.height - 1 : 0;
        const std::size_t at = (y * of.width + x) * 3;
        return Corner{of.pixels[at], of.pixels[at + 1]};
    };
    // What the top left corner of the file becomes, as EXIF defines it: {right, below}.
    const std::array<std::array<bool, 2>, 9> top_left{{{false, false},
                                                       {false, false},
                                                       {true, false},
                                                       {true, true},
                                                       {false, true},
                                                       {false, false},
                                                       {true, false},
                                                       {true, true},
                                                       {false, true}}};
    for (unsigned orientation = 1; orientation <= 8; ++orientation) {
        const auto decoded = decode_image(as_jpeg(image, {.orientation = orientation}));
        ASSERT_TRUE(decoded.ok());
        EXPECT_EQ(decoded->width, orientation >= 5 ? 32U : 64U) << orientation;
        const auto [right, below] = top_left[orientation];
        const Corner dark = corner(*decoded, right, below);
        const Corner bright = corner(*decoded, !right, !below);
        EXPECT_LT(dark.red + dark.green, 30) << orientation;
        EXPECT_GT(bright.red + bright.green, 480) << orientation;
    }
}

TEST(Decode, ALargePhotographIsDecodedNoLargerThanNeeded) {
    const std::string bytes = as_jpeg(gradient(1600, 1200));
    const auto small = decode_image(bytes, {.least_width = 300, .least_height = 300});
    ASSERT_TRUE(small.ok());
    EXPECT_EQ(small->width, 400U);
    EXPECT_EQ(small->file_width, 1600U);
    const auto whole = decode_image(bytes, {.least_width = 1000, .least_height = 1000});
    ASSERT_TRUE(whole.ok());
    EXPECT_EQ(whole->width, 1600U);
}

TEST(Decode, WhatIsCutOffAnywhereIsAnErrorAndNoGreyPicture) {
    const Image image = gradient(48, 48);
    for (const std::string& bytes : {as_jpeg(image), as_jpeg(image, {.progressive = true}),
                                     as_png(image), as_webp(image, true), as_webp(image, false)}) {
        ASSERT_TRUE(decode_image(bytes).ok());
        // The last bytes may be an end marker that a decoder can do without.
        for (std::size_t length = 0; length + 40 < bytes.size(); length += 7) {
            const auto decoded = decode_image(std::string_view(bytes).substr(0, length));
            ASSERT_FALSE(decoded.ok()) << length << " of " << bytes.size();
            EXPECT_THAT(decoded.error().message, HasSubstr("image"));
        }
    }
}

TEST(Decode, ChangedBytesGiveAPictureOrAnErrorAndNeverACrash) {
    const Image image = gradient(40, 40);
    unsigned state = 1;
    for (const std::string& bytes : {as_jpeg(image), as_jpeg(image, {.progressive = true}),
                                     as_png(image), as_webp(image, true), as_webp(image, false)}) {
        for (int round = 0; round < 300; ++round) {
            std::string changed = bytes;
            for (int i = 0; i < 3; ++i) {
                state = state * 1664525U + 1013904223U;
                changed[state % changed.size()] = static_cast<char>(state >> 16U);
            }
            const auto decoded =
                decode_image(changed, {.limits = {.most_side = 2000, .most_pixels = 1'000'000}});
            if (decoded.ok()) {
                EXPECT_EQ(decoded->pixels.size(),
                          std::size_t{decoded->width} * decoded->height * 3);
            } else {
                EXPECT_FALSE(decoded.error().message.empty());
            }
        }
    }
}

TEST(Decode, ABombIsRefusedBeforeAnythingOfItIsDecoded) {
    EXPECT_THAT(decode_image(png_bomb(50'000, 50'000)).error().message, HasSubstr("50000x50000"));
    // Within the limits, but without data.
    EXPECT_THAT(decode_image(png_bomb(300, 300)).error().message, HasSubstr("broken"));
}

TEST(Decode, AnOrientationThatIsNoneIsTheUsualOne) {
    using namespace std::string_view_literals;
    EXPECT_EQ(read_orientation(""), 1U);
    EXPECT_EQ(read_orientation("Exif\0\0"sv), 1U);
    EXPECT_EQ(read_orientation("Exif\0\0MM\0\x2a\xff\xff\xff\xff"sv), 1U);
    EXPECT_EQ(
        read_orientation("Exif\0\0II\x2a\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0"sv),
        6U);
    EXPECT_EQ(
        read_orientation("Exif\0\0II\x2a\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x09\0\0\0"sv),
        1U);
}

}  // namespace
}  // namespace aliquot::vision
