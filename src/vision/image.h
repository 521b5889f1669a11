// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace aliquot::vision {

enum class ImageFormat : std::uint8_t { kJpeg, kPng, kWebp };
std::string_view name_of(ImageFormat format);  // "JPEG"

struct ImageLimits {
    std::uint32_t most_side = 16'384;
    std::uint64_t most_pixels = 40'000'000;
};

/// What the first bytes of a file say, before anything of it is decoded.
struct ImageHeader {
    ImageFormat format = ImageFormat::kJpeg;
    std::uint32_t width = 0;
    std::uint32_t height = 0;
};

/// Pixels as red, green, blue, a byte each, row by row from the top left.
struct Image {
    std::uint32_t width = 0;
    std::uint32_t height = 0;
    /// Of the file, turned as the picture is; larger than width and height where it was decoded smaller.
    std::uint32_t file_width = 0;
    std::uint32_t file_height = 0;
    std::vector<std::uint8_t> pixels;  // width * height * 3
};

/// Reads format and size. Pure.
/// errors   kUnsupported: neither JPEG, PNG nor WebP (the message says what it looks like), or an animation;
///          kInvalidInput: cut off, broken, or larger than the limits
Result<ImageHeader> read_image_header(std::string_view bytes, const ImageLimits& limits = {});

}  // namespace aliquot::vision
