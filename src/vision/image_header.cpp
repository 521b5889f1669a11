// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <optional>
#include <string>

#include "vision/image.h"

namespace aliquot::vision {
namespace {

constexpr std::string_view kPngStart("\x89PNG\r\n\x1a\n", 8);

/// Numbers at places of a text; 0 behind its end, so that who reads asks has() first.
class Bytes {
public:
    explicit Bytes(std::string_view text) : text_(text) {}
    [[nodiscard]] bool has(std::size_t at, std::size_t count) const {
        return at <= text_.size() && text_.size() - at >= count;
    }
    [[nodiscard]] std::uint32_t byte(std::size_t at) const {
        return at < text_.size() ? static_cast<unsigned char>(text_[at]) : 0U;
    }
    [[nodiscard]] std::uint32_t big16(std::size_t at) const {
        return byte(at) << 8U | byte(at + 1);
    }
    [[nodiscard]] std::uint32_t big32(std::size_t at) const {
        return big16(at) << 16U | big16(at + 2);
    }
    [[nodiscard]] std::uint32_t little16(std::size_t at) const {
        return byte(at) | byte(at + 1) << 8U;
    }
    [[nodiscard]] std::uint32_t little24(std::size_t at) const {
        return little16(at) | byte(at + 2) << 16U;
    }
    [[nodiscard]] std::uint32_t little32(std::size_t at) const {
        return little16(at) | little16(at + 2) << 16U;
    }
    [[nodiscard]] bool is(std::size_t at, std::string_view words) const {
        return has(at, words.size()) && text_.substr(at, words.size()) == words;
    }
    [[nodiscard]] std::size_t size() const { return text_.size(); }

private:
    std::string_view text_;
};

Error cut_off(std::string_view format, std::size_t size) {
    return {
        ErrorCode::kInvalidInput,
        std::string(format) + " image is cut off in its header, at byte " + std::to_string(size)};
}

Error broken(std::string_view format, std::string_view why) {
    return {ErrorCode::kInvalidInput,
            std::string(format) + " image is broken: " + std::string(why)};
}

/// Marker segments up to the one that holds the size. source: ITU-T T.81, B.1.1.4 and B.2.2
Result<ImageHeader> read_jpeg(const Bytes& bytes) {
    std::size_t at = 2;
    while (true) {
        if (!bytes.has(at, 2)) return cut_off("JPEG", bytes.size());
        if (bytes.byte(at) != 0xFF) return broken("JPEG", "no marker where one must be");
        const std::uint32_t marker = bytes.byte(at + 1);
        if (marker == 0xFF) {  // a fill byte
            ++at;
            continue;
        }
        at += 2;
        const bool alone = marker == 0x01 || (marker >= 0xD0 && marker <= 0xD8);
        if (alone) continue;
        if (marker == 0xD9 || marker == 0xDA) return broken("JPEG", "no frame before its data");
        if (!bytes.has(at, 2)) return cut_off("JPEG", bytes.size());
        const std::uint32_t length = bytes.big16(at);
        if (length < 2) return broken("JPEG", "a segment shorter than its length");
        const bool frame =
            marker >= 0xC0 && marker <= 0xCF && marker != 0xC4 && marker != 0xC8 && marker != 0xCC;
        if (frame) {
            if (!bytes.has(at, 8)) return cut_off("JPEG", bytes.size());
            if (length < 8) return broken("JPEG", "a frame header that is too short");
            return ImageHeader{.format = ImageFormat::kJpeg,
                               .width = bytes.big16(at + 5),
                               .height = bytes.big16(at + 3)};
        }
        at += length;
    }
}

/// source: PNG specification, 11.2.2 IHDR
Result<ImageHeader> read_png(const Bytes& bytes) {
    constexpr std::size_t kEnd = 33;  // of the first chunk
    if (!bytes.has(0, kEnd)) return cut_off("PNG", bytes.size());
    if (bytes.big32(8) != 13 || !bytes.is(12, "IHDR"))
        return broken("PNG", "its first chunk is not IHDR");
    return ImageHeader{
        .format = ImageFormat::kPng, .width = bytes.big32(16), .height = bytes.big32(20)};
}

/// source: RFC 9649 (WebP container), RFC 6386 section 9.1 (lossy), lossless bitstream section 3
Result<ImageHeader> read_webp(const Bytes& bytes) {
    constexpr std::uint32_t kAnimation = 0x02;
    constexpr std::uint32_t kSide = 0x3FFF;
    ImageHeader header{.format = ImageFormat::kWebp};
    if (bytes.is(12, "VP8X")) {
        if (!bytes.has(0, 30)) return cut_off("WebP", bytes.size());
        if ((bytes.byte(20) & kAnimation) != 0) {
            return Error{ErrorCode::kUnsupported,
                         "WebP image is an animation; expected one picture: send a frame of it"};
        }
        header.width = bytes.little24(24) + 1;
        header.height = bytes.little24(27) + 1;
    } else if (bytes.is(12, "VP8 ")) {
        if (!bytes.has(0, 30)) return cut_off("WebP", bytes.size());
        if (!bytes.is(23, "\x9d\x01\x2a")) return broken("WebP", "no start of a key frame");
        header.width = bytes.little16(26) & kSide;
        header.height = bytes.little16(28) & kSide;
    } else if (bytes.is(12, "VP8L")) {
        if (!bytes.has(0, 25)) return cut_off("WebP", bytes.size());
        if (bytes.byte(20) != 0x2F) return broken("WebP", "no start of a lossless picture");
        header.width = (bytes.little32(21) & kSide) + 1;
        header.height = (bytes.little32(21) >> 14U & kSide) + 1;
    } else if (!bytes.has(12, 4)) {
        return cut_off("WebP", bytes.size());
    } else {
        return broken("WebP", "its first chunk is not a picture");
    }
    return header;
}

/// What people send by mistake.
std::string_view looks_like(const Bytes& bytes) {
    struct Start {
        std::size_t at;
        std::string_view words;
        std::string_view what;
    };
    using namespace std::string_view_literals;
    static constexpr auto kStarts = std::to_array<Start>({
        {0, "GIF8", "a GIF"},
        {0, "BM", "a BMP"},
        {0, "II*\0"sv, "a TIFF"},
        {0, "MM\0*"sv, "a TIFF"},
        {4, "ftypavi", "an AVIF"},
        {4, "ftyphei", "a HEIC"},
        {4, "ftypmif", "a HEIF"},
        {4, "ftyp", "a video (MP4)"},
        {0, "%PDF", "a PDF"},
        {0, "PK\x03\x04", "a ZIP archive"},
        {0, "\x1f\x8b", "a gzip file"},
        {0, "<svg", "an SVG"},
        {0, "<?xml", "XML"},
        {0, "<!DOCTYPE", "HTML"},
        {0, "<html", "HTML"},
        {0, "{", "JSON"},
        {0, "\xff\x0a", "a JPEG XL"},
    });
    for (const Start& start : kStarts) {
        if (bytes.is(start.at, start.words)) return start.what;
    }
    return "something else";
}

}  // namespace

std::string_view name_of(ImageFormat format) {
    switch (format) {
        case ImageFormat::kJpeg:
            return "JPEG";
        case ImageFormat::kPng:
            return "PNG";
        case ImageFormat::kWebp:
            return "WebP";
    }
    return "";
}

Result<ImageHeader> read_image_header(std::string_view text, const ImageLimits& limits) {
    const Bytes bytes(text);
    if (text.empty()) return Error{ErrorCode::kInvalidInput, "the image has no bytes"};
    std::optional<Result<ImageHeader>> read;
    if (bytes.is(0, "\xff\xd8")) {
        read = read_jpeg(bytes);
    } else if (bytes.is(0, kPngStart)) {
        read = read_png(bytes);
    } else if (bytes.is(0, "RIFF") && bytes.is(8, "WEBP")) {
        read = read_webp(bytes);
    } else {
        return Error{ErrorCode::kUnsupported, "the image is " + std::string(looks_like(bytes)) +
                                                  "; expected a JPEG, a PNG or a WebP"};
    }
    if (!read->ok()) return std::move(*read).error();
    const ImageHeader& header = **read;
    const std::string size = std::to_string(header.width) + "x" + std::to_string(header.height);
    if (header.width == 0 || header.height == 0) {
        return broken(name_of(header.format), "it is " + size + " pixels");
    }
    if (header.width > limits.most_side || header.height > limits.most_side ||
        std::uint64_t{header.width} * header.height > limits.most_pixels) {
        return Error{ErrorCode::kInvalidInput,
                     "the image is " + size + " pixels; expected at most " +
                         std::to_string(limits.most_side) + " a side and " +
                         std::to_string(limits.most_pixels) + " in all"};
    }
    return *std::move(*read);
}

}  // namespace aliquot::vision
