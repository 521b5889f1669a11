// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdio>
#include <cstdlib>
// The library's header wants <cstdio> before it.
#include <jpeglib.h>
#include <png.h>
#include <webp/encode.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "vision/test_pictures.h"

namespace aliquot::vision {
namespace {

void add_big32(std::string& out, std::uint32_t value) {
    for (unsigned shift = 32; shift > 0; shift -= 8)
        out += static_cast<char>(value >> (shift - 8) & 0xFFU);
}

std::string png_of(const std::uint8_t* pixels, std::uint32_t width, std::uint32_t height,
                   unsigned format) {
    png_image png{};
    png.version = PNG_IMAGE_VERSION;
    png.width = width;
    png.height = height;
    png.format = format;
    png_alloc_size_t size = 0;
    png_image_write_to_memory(&png, nullptr, &size, 0, pixels, 0, nullptr);
    std::string bytes(size, '\0');
    png_image_write_to_memory(&png, bytes.data(), &size, 0, pixels, 0, nullptr);
    bytes.resize(size);
    return bytes;
}

/// Big-endian TIFF with one entry.
std::string exif(unsigned orientation) {
    std::string text("Exif\0\0MM\0\x2a\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01", 24);
    text += '\0';
    text += static_cast<char>(orientation);
    text += std::string(6, '\0');
    return text;
}

}  // namespace

Image gradient(std::uint32_t width, std::uint32_t height) {
    Image image{.width = width, .height = height, .file_width = width, .file_height = height};
    for (std::uint32_t y = 0; y < height; ++y) {
        for (std::uint32_t x = 0; x < width; ++x) {
            image.pixels.push_back(static_cast<std::uint8_t>(255 * x / std::max(width - 1, 1U)));
            image.pixels.push_back(static_cast<std::uint8_t>(255 * y / std::max(height - 1, 1U)));
            image.pixels.push_back(60);
        }
    }
    return image;
}

Image plain(std::uint32_t width, std::uint32_t height, std::array<std::uint8_t, 3> colour) {
    Image image{.width = width, .height = height, .file_width = width, .file_height = height};
    for (std::size_t i = 0; i < std::size_t{width} * height; ++i) {
        image.pixels.insert(image.pixels.end(), colour.begin(), colour.end());
    }
    return image;
}

std::string as_jpeg(const Image& image, const JpegForm& form) {
    jpeg_compress_struct info{};
    jpeg_error_mgr errors{};
    info.err = jpeg_std_error(&errors);
    jpeg_create_compress(&info);
    unsigned char* bytes = nullptr;
    unsigned long size = 0;
    jpeg_mem_dest(&info, &bytes, &size);
    info.image_width = image.width;
    info.image_height = image.height;
    info.input_components = form.grey ? 1 : 3;
    info.in_color_space = form.grey ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_set_defaults(&info);
    jpeg_set_quality(&info, form.quality, TRUE);
    for (int i = 0; i < info.num_components; ++i) {  // no loss of colour
        info.comp_info[i].h_samp_factor = 1;
        info.comp_info[i].v_samp_factor = 1;
    }
    if (form.progressive) jpeg_simple_progression(&info);
    jpeg_start_compress(&info, TRUE);
    if (form.orientation != 0) {
        const std::string segment = exif(form.orientation);
        jpeg_write_marker(&info, JPEG_APP0 + 1, reinterpret_cast<const JOCTET*>(segment.data()),
                          static_cast<unsigned>(segment.size()));
    }
    std::vector<std::uint8_t> row;
    for (std::uint32_t y = 0; y < image.height; ++y) {
        const auto first =
            image.pixels.begin() + static_cast<std::ptrdiff_t>(std::size_t{y} * image.width * 3);
        row.assign(first, first + static_cast<std::ptrdiff_t>(image.width) * 3);
        if (form.grey) {
            for (std::size_t x = 0; x < image.width; ++x) row[x] = row[x * 3];
        }
        JSAMPROW rows = row.data();
        jpeg_write_scanlines(&info, &rows, 1);
    }
    jpeg_finish_compress(&info);
    jpeg_destroy_compress(&info);
    std::string text(reinterpret_cast<const char*>(bytes), size);
    std::free(bytes);
    return text;
}

std::string as_png(const Image& image) {
    return png_of(image.pixels.data(), image.width, image.height, PNG_FORMAT_RGB);
}

std::string as_png_with_alpha(const Image& image, std::uint8_t alpha) {
    std::vector<std::uint8_t> pixels;
    for (std::size_t i = 0; i < image.pixels.size(); i += 3) {
        pixels.insert(pixels.end(),
                      {image.pixels[i], image.pixels[i + 1], image.pixels[i + 2], alpha});
    }
    return png_of(pixels.data(), image.width, image.height, PNG_FORMAT_RGBA);
}

std::string as_webp(const Image& image, bool lossless) {
    std::uint8_t* bytes = nullptr;
    const auto width = static_cast<int>(image.width);
    const auto height = static_cast<int>(image.height);
    const std::size_t size =
        lossless ? WebPEncodeLosslessRGB(image.pixels.data(), width, height, width * 3, &bytes)
                 : WebPEncodeRGB(image.pixels.data(), width, height, width * 3, 95, &bytes);
    std::string text(reinterpret_cast<const char*>(bytes), size);
    WebPFree(bytes);
    return text;
}

std::string png_bomb(std::uint32_t width, std::uint32_t height) {
    std::string bytes("\x89PNG\r\n\x1a\n", 8);
    const auto chunk = [&](std::string content) {
        add_big32(bytes, static_cast<std::uint32_t>(content.size() - 4));
        bytes += content;
        add_big32(bytes, static_cast<std::uint32_t>(
                             ::crc32(0, reinterpret_cast<const Bytef*>(content.data()),
                                     static_cast<uInt>(content.size()))));
    };
    std::string header = "IHDR";
    add_big32(header, width);
    add_big32(header, height);
    header += std::string("\x08\x02\0\0\0", 5);
    chunk(header);
    chunk("IDAT");
    chunk("IEND");
    return bytes;
}

int difference(const Image& a, const Image& b) {
    if (a.width != b.width || a.height != b.height || a.pixels.size() != b.pixels.size())
        return 1000;
    int most = 0;
    for (std::size_t i = 0; i < a.pixels.size(); ++i) {
        most =
            std::max(most, std::abs(static_cast<int>(a.pixels[i]) - static_cast<int>(b.pixels[i])));
    }
    return most;
}

}  // namespace aliquot::vision
