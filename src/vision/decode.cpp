// SPDX-License-Identifier: Apache-2.0
#include "vision/decode.h"

#include <new>
#include <string>

namespace aliquot::vision {
namespace {

unsigned exif16(std::string_view tiff, std::size_t at, bool little) {
    const auto byte = [&](std::size_t i) {
        return static_cast<unsigned>(static_cast<unsigned char>(tiff[i]));
    };
    return little ? byte(at) | byte(at + 1) << 8U : byte(at) << 8U | byte(at + 1);
}

std::size_t exif32(std::string_view tiff, std::size_t at, bool little) {
    const std::size_t first = exif16(tiff, at, little);
    const std::size_t second = exif16(tiff, at + 2, little);
    return little ? first | second << 16U : first << 16U | second;
}

}  // namespace

unsigned read_orientation(std::string_view segment) {
    constexpr std::string_view kStart("Exif\0\0", 6);
    constexpr std::size_t kEntry = 12;
    constexpr unsigned kOrientation = 0x0112;
    if (!segment.starts_with(kStart)) return 1;
    const std::string_view tiff = segment.substr(kStart.size());
    if (tiff.size() < 8) return 1;
    const bool little = tiff.starts_with("II");
    if (!little && !tiff.starts_with("MM")) return 1;
    const std::size_t directory = exif32(tiff, 4, little);
    if (directory > tiff.size() || tiff.size() - directory < 2) return 1;
    const unsigned count = exif16(tiff, directory, little);
    for (unsigned i = 0; i < count; ++i) {
        const std::size_t at = directory + 2 + i * kEntry;
        if (at + kEntry > tiff.size()) return 1;
        if (exif16(tiff, at, little) != kOrientation) continue;
        const unsigned value = exif16(tiff, at + 8, little);
        return value >= 1 && value <= 8 ? value : 1;
    }
    return 1;
}

std::uint64_t decode_bytes(const ImageHeader& header) {
    // A progressive JPEG keeps all coefficients, 2 bytes each, of up to four components, besides the pixels; WebP keeps
    // 4 bytes a pixel.
    constexpr std::uint64_t kPixels = 3;
    constexpr std::uint64_t kJpeg = 8;
    constexpr std::uint64_t kOther = 5;
    const std::uint64_t pixels = std::uint64_t{header.width} * header.height;
    return pixels * (kPixels + (header.format == ImageFormat::kJpeg ? kJpeg : kOther));
}

Result<Image> decode_image(std::string_view bytes, const DecodeOptions& options) {
    const auto header = read_image_header(bytes, options.limits);
    if (!header) return header.error();
    try {
        switch (header->format) {
            case ImageFormat::kJpeg:
                return decode_jpeg(bytes, *header, options);
            case ImageFormat::kPng:
                return decode_png(bytes, *header);
            case ImageFormat::kWebp:
                return decode_webp(bytes, *header);
        }
    } catch (const std::bad_alloc&) {
        return Error{ErrorCode::kUnavailable, "no memory to decode an image of " +
                                                  std::to_string(header->width) + "x" +
                                                  std::to_string(header->height) + " pixels"};
    }
    return Error{ErrorCode::kInternal, "an image of no known format"};
}

}  // namespace aliquot::vision
