// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "vision/image.h"

/// Pictures that tests make themselves.
namespace aliquot::vision {

/// Red grows to the right, green downwards, blue is 60.
Image gradient(std::uint32_t width, std::uint32_t height);
/// One colour.
Image plain(std::uint32_t width, std::uint32_t height, std::array<std::uint8_t, 3> colour);

struct JpegForm {
    bool progressive = false;
    bool grey = false;
    unsigned orientation = 0;  // 0: no EXIF
    int quality = 95;
};
std::string as_jpeg(const Image& image, const JpegForm& form = {});
std::string as_png(const Image& image);
/// With a fourth number for each pixel.
std::string as_png_with_alpha(const Image& image, std::uint8_t alpha);
std::string as_webp(const Image& image, bool lossless = true);

/// A PNG that says it is so large and has no data to speak of.
std::string png_bomb(std::uint32_t width, std::uint32_t height);

/// The largest difference of two pictures' numbers; 1000 when their sizes differ.
int difference(const Image& a, const Image& b);

}  // namespace aliquot::vision
