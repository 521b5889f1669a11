// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "vision/image.h"

namespace aliquot::vision {

struct DecodeOptions {
    ImageLimits limits;
    /// What the picture is needed for. A JPEG is decoded at 1/2, 1/4 or 1/8 of its size where that is still as large: most
    /// of the work and memory of a large photograph. 0: as it is.
    std::uint32_t least_width = 0;
    std::uint32_t least_height = 0;
};

/// Reads a whole JPEG, PNG or WebP. What is transparent shows grey (114) behind it; a photograph is turned as its EXIF
/// says. Never decodes what the header says is over the limits. Thread-safe; throws nothing.
/// errors   of read_image_header(); kInvalidInput: the data is cut off or broken
Result<Image> decode_image(std::string_view bytes, const DecodeOptions& options = {});

/// How many bytes decoding may take, from the header alone: the pixels and what the decoder keeps beside them.
std::uint64_t decode_bytes(const ImageHeader& header);

/// The orientation (1..8) that the EXIF segment of a JPEG names; 1 when none does. `segment` is without marker and length.
/// source: Exif 2.32, 4.6.4; TIFF 6.0
unsigned read_orientation(std::string_view segment);

// One for each library.
Result<Image> decode_jpeg(std::string_view bytes, const ImageHeader& header,
                          const DecodeOptions& options);
Result<Image> decode_png(std::string_view bytes, const ImageHeader& header);
Result<Image> decode_webp(std::string_view bytes, const ImageHeader& header);

}  // namespace aliquot::vision
