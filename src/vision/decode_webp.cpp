// SPDX-License-Identifier: Apache-2.0
#include <webp/decode.h>

#include <string>

#include "vision/decode.h"
#include "vision/letterbox.h"

namespace aliquot::vision {
namespace {

/// The picture on grey, for one that is partly transparent.
void put_on_grey(const std::vector<std::uint8_t>& rgba, std::vector<std::uint8_t>& rgb) {
    for (std::size_t i = 0, count = rgba.size() / 4; i < count; ++i) {
        const unsigned alpha = rgba[i * 4 + 3];
        for (std::size_t c = 0; c < 3; ++c) {
            const unsigned mixed = rgba[i * 4 + c] * alpha + kPadding * (255U - alpha);
            rgb[i * 3 + c] = static_cast<std::uint8_t>((mixed + 127U) / 255U);
        }
    }
}

}  // namespace

Result<Image> decode_webp(std::string_view bytes, const ImageHeader& header) {
    const auto* const data = reinterpret_cast<const std::uint8_t*>(bytes.data());
    WebPBitstreamFeatures features;
    if (WebPGetFeatures(data, bytes.size(), &features) != VP8_STATUS_OK) {
        return Error{ErrorCode::kInvalidInput, "WebP image is broken: its header cannot be read"};
    }
    if (features.has_animation != 0) {
        return Error{ErrorCode::kUnsupported, "WebP image is an animation; expected one picture"};
    }
    if (static_cast<std::uint32_t>(features.width) != header.width ||
        static_cast<std::uint32_t>(features.height) != header.height) {
        return Error{ErrorCode::kInvalidInput, "WebP image is broken: it has two sizes"};
    }
    const std::size_t count = std::size_t{header.width} * header.height;
    Image image{.width = header.width,
                .height = header.height,
                .file_width = header.width,
                .file_height = header.height,
                .pixels = std::vector<std::uint8_t>(count * 3)};
    const bool transparent = features.has_alpha != 0;
    std::vector<std::uint8_t> rgba(transparent ? count * 4 : 0);
    const std::uint8_t* const done =
        transparent ? WebPDecodeRGBAInto(data, bytes.size(), rgba.data(), rgba.size(),
                                         static_cast<int>(header.width * 4))
                    : WebPDecodeRGBInto(data, bytes.size(), image.pixels.data(),
                                        image.pixels.size(), static_cast<int>(header.width * 3));
    if (done == nullptr) {
        return Error{ErrorCode::kInvalidInput,
                     "WebP image is broken: its data is cut off or wrong"};
    }
    if (transparent) put_on_grey(rgba, image.pixels);
    return image;
}

}  // namespace aliquot::vision
