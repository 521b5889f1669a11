// SPDX-License-Identifier: Apache-2.0
// The first bytes of whatever somebody sends as a picture are read or refused, and never say more pixels than allowed.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "vision/classes.h"
#include "vision/decode.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace aliquot::vision;
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    const ImageLimits limits{.most_side = 4096, .most_pixels = 1'000'000};
    const auto header = read_image_header(bytes, limits);
    if (header && (header->width == 0 || header->height == 0 ||
                   std::uint64_t{header->width} * header->height > limits.most_pixels)) {
        std::abort();
    }
    const unsigned orientation = read_orientation(bytes);
    if (orientation < 1 || orientation > 8) std::abort();
    (void)read_labels(bytes);
    return 0;
}
