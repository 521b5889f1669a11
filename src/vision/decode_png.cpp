// SPDX-License-Identifier: Apache-2.0
#include <png.h>

#include <cstring>
#include <string>

#include "vision/decode.h"
#include "vision/letterbox.h"

namespace aliquot::vision {

Result<Image> decode_png(std::string_view bytes, const ImageHeader& header) {
    png_image png;
    std::memset(&png, 0, sizeof png);
    png.version = PNG_IMAGE_VERSION;
    const struct Ender {
        png_image* image;
        ~Ender() { png_image_free(image); }
    } ender{&png};
    const auto broken = [&] {
        return Error{ErrorCode::kInvalidInput, std::string("PNG image is broken: ") + png.message};
    };
    if (png_image_begin_read_from_memory(&png, bytes.data(), bytes.size()) == 0) return broken();
    if (png.width != header.width || png.height != header.height) {
        return Error{ErrorCode::kInvalidInput, "PNG image is broken: it has two sizes"};
    }
    png.format = PNG_FORMAT_RGB;
    png.flags |= PNG_IMAGE_FLAG_16BIT_sRGB;
    Image image{.width = header.width,
                .height = header.height,
                .file_width = header.width,
                .file_height = header.height,
                .pixels = std::vector<std::uint8_t>(std::size_t{header.width} * header.height * 3)};
    const png_color behind{.red = kPadding, .green = kPadding, .blue = kPadding};
    if (png_image_finish_read(&png, &behind, image.pixels.data(), 0, nullptr) == 0) return broken();
    // A chunk whose sum is wrong is told as a warning, and what came of it cannot be trusted.
    if ((png.warning_or_error & 1U) != 0 && std::strstr(png.message, "CRC") != nullptr)
        return broken();
    return image;
}

}  // namespace aliquot::vision
