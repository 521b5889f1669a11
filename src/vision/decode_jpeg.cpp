// SPDX-License-Identifier: Apache-2.0
#include <csetjmp>
#include <cstddef>
#include <cstdio>
// The library's header wants <cstdio> before it.
#include <jpeglib.h>

#include <algorithm>
#include <string>
#include <utility>

#include "vision/decode.h"

namespace aliquot::vision {
namespace {

constexpr int kMostScans = 256;  // a progressive file of more is made to waste time
constexpr int kSegmentMost = 0xFFFF;

/// What the library calls back into. It leaves by longjmp, past nothing that has a destructor.
struct Handler {
    jpeg_error_mgr base;  // first: the library hands out a pointer to it
    std::jmp_buf back;
    char words[JMSG_LENGTH_MAX];
};
struct Progress {
    jpeg_progress_mgr base;  // first
    Handler* handler;
};

[[noreturn]] void leave(j_common_ptr info) {
    auto* const handler = reinterpret_cast<Handler*>(info->err);
    (*info->err->format_message)(info, handler->words);
    std::longjmp(handler->back, 1);
}

/// A warning is data that the library made up: what is cut off would become grey.
void take_message(j_common_ptr info, int level) {
    if (level < 0) leave(info);
}

void count_scans(j_common_ptr info) {
    if (info->is_decompressor == FALSE) return;
    const auto* const decompress = reinterpret_cast<j_decompress_ptr>(info);
    if (decompress->input_scan_number <= kMostScans) return;
    auto* const handler = reinterpret_cast<Progress*>(info->progress)->handler;
    std::snprintf(handler->words, sizeof handler->words, "more than %d scans", kMostScans);
    std::longjmp(handler->back, 1);
}

/// The largest divisor of 1, 2, 4, 8 that leaves enough.
unsigned divisor_of(const ImageHeader& header, const DecodeOptions& options) {
    if (options.least_width == 0 || options.least_height == 0) return 1;
    unsigned divisor = 1;
    // Either way round: it may be turned.
    const std::uint32_t needed = std::max(options.least_width, options.least_height);
    while (divisor < 8 && std::min(header.width, header.height) / (divisor * 2) >= needed)
        divisor *= 2;
    return divisor;
}

struct Work {
    jpeg_decompress_struct info;
    Handler handler;
    Progress progress;
    unsigned divisor = 1;
    unsigned orientation = 1;
    bool cmyk = false;
};

/// False: handler.words says why. Holds nothing that must be destroyed, since errors jump out of it.
bool begin(Work& work, std::string_view bytes, std::uint64_t most_bytes) {
    if (setjmp(work.handler.back) != 0) return false;
    jpeg_create_decompress(&work.info);
    work.info.mem->max_memory_to_use = static_cast<long>(most_bytes);
    work.progress.base.progress_monitor = count_scans;
    work.progress.handler = &work.handler;
    work.info.progress = &work.progress.base;
    jpeg_save_markers(&work.info, JPEG_APP0 + 1, kSegmentMost);
    jpeg_mem_src(&work.info, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
    jpeg_read_header(&work.info, TRUE);
    for (auto* marker = work.info.marker_list; marker != nullptr && work.orientation == 1;
         marker = marker->next) {
        work.orientation =
            read_orientation({reinterpret_cast<const char*>(marker->data), marker->data_length});
    }
    work.cmyk = work.info.jpeg_color_space == JCS_CMYK || work.info.jpeg_color_space == JCS_YCCK;
    work.info.out_color_space = work.cmyk ? JCS_CMYK : JCS_RGB;
    work.info.scale_num = 1;
    work.info.scale_denom = work.divisor;
    jpeg_start_decompress(&work.info);
    return true;
}

bool read_rows(Work& work, std::uint8_t* pixels, std::size_t row_bytes) {
    if (setjmp(work.handler.back) != 0) return false;
    while (work.info.output_scanline < work.info.output_height) {
        JSAMPROW row = pixels + work.info.output_scanline * row_bytes;
        jpeg_read_scanlines(&work.info, &row, 1);
    }
    jpeg_finish_decompress(&work.info);
    return true;
}

/// Adobe's programs, which write nearly all of them, store the inverse.
void from_cmyk(const std::vector<std::uint8_t>& ink, bool inverted,
               std::vector<std::uint8_t>& pixels) {
    for (std::size_t i = 0, count = ink.size() / 4; i < count; ++i) {
        const auto part = [&](std::size_t at) {
            const unsigned value = ink[i * 4 + at];
            return inverted ? value : 255U - value;
        };
        for (std::size_t c = 0; c < 3; ++c) {
            pixels[i * 3 + c] = static_cast<std::uint8_t>(part(c) * part(3) / 255U);
        }
    }
}

/// As EXIF numbers the ways a picture can lie.
Image turned(Image image, unsigned orientation) {
    if (orientation <= 1) return image;
    const bool swaps = orientation >= 5;
    Image result{.width = swaps ? image.height : image.width,
                 .height = swaps ? image.width : image.height,
                 .file_width = swaps ? image.file_height : image.file_width,
                 .file_height = swaps ? image.file_width : image.file_height,
                 .pixels = std::vector<std::uint8_t>(image.pixels.size())};
    const bool mirrors_x =
        orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
    const bool mirrors_y =
        orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
    for (std::size_t y = 0; y < result.height; ++y) {
        for (std::size_t x = 0; x < result.width; ++x) {
            std::size_t from_x = swaps ? y : x;
            std::size_t from_y = swaps ? x : y;
            if (mirrors_x) from_x = image.width - 1 - from_x;
            if (mirrors_y) from_y = image.height - 1 - from_y;
            std::copy_n(image.pixels.data() + (from_y * image.width + from_x) * 3, 3,
                        result.pixels.data() + (y * result.width + x) * 3);
        }
    }
    return result;
}

}  // namespace

Result<Image> decode_jpeg(std::string_view bytes, const ImageHeader& header,
                          const DecodeOptions& options) {
    Work work{};
    work.info.err = jpeg_std_error(&work.handler.base);
    work.handler.base.error_exit = leave;
    work.handler.base.emit_message = take_message;
    work.divisor = divisor_of(header, options);
    const struct Ender {
        jpeg_decompress_struct* info;
        ~Ender() { jpeg_destroy_decompress(info); }
    } ender{&work.info};
    const auto broken = [&] {
        return Error{ErrorCode::kInvalidInput,
                     std::string("JPEG image is broken: ") + work.handler.words};
    };
    if (!begin(work, bytes, decode_bytes(header) + (std::uint64_t{1} << 20U))) return broken();
    // The frame that the library decodes is the one that was looked at: the first.
    if (work.info.image_width != header.width || work.info.image_height != header.height) {
        return Error{ErrorCode::kInvalidInput, "JPEG image is broken: it has two sizes"};
    }
    Image image{.width = work.info.output_width,
                .height = work.info.output_height,
                .file_width = header.width,
                .file_height = header.height};
    const std::size_t count = std::size_t{image.width} * image.height;
    image.pixels.resize(count * 3);
    if (!work.cmyk) {
        if (!read_rows(work, image.pixels.data(), std::size_t{image.width} * 3)) return broken();
    } else {
        std::vector<std::uint8_t> ink(count * 4);
        if (!read_rows(work, ink.data(), std::size_t{image.width} * 4)) return broken();
        from_cmyk(ink, work.info.saw_Adobe_marker == TRUE, image.pixels);
    }
    return turned(std::move(image), work.orientation);
}

}  // namespace aliquot::vision
