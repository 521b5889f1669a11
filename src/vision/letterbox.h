// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "vision/image.h"

namespace aliquot::vision {

inline constexpr std::uint8_t kPadding = 114;  // the grey that detectors are trained with

/// What a model wants to see.
struct InputForm {
    std::uint32_t width = 640;
    std::uint32_t height = 640;
    enum class Fit : std::uint8_t {
        kLetterbox,  // the whole picture, grey around it: detectors
        kCrop,       // the short side fits `resize`, the middle is cut out: classifiers
    };
    Fit fit = Fit::kLetterbox;
    std::uint32_t resize = 0;            // short side before the cut; 0: that of width and height
    std::array<float, 3> mean{0, 0, 0};  // taken off after the division by 255
    std::array<float, 3> deviation{1, 1, 1};  // and divided by
};

/// Where the picture lies in what the model sees: x' = x * scale_x + left.
struct Placement {
    double scale_x = 1;
    double scale_y = 1;
    double left = 0;
    double top = 0;
};

/// Numbers of one picture: 3 * width * height.
std::size_t input_size(const InputForm& form);

/// Writes the picture as planes of red, green and blue, bilinear, as the form says. Pure.
/// out      input_size(form) numbers
/// returns  where pixels of the file (not of the decoded picture, which may be smaller) came to lie
Placement write_input(const Image& image, const InputForm& form, std::span<float> out);

}  // namespace aliquot::vision
