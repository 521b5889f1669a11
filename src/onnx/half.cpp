// SPDX-License-Identifier: Apache-2.0
#include "onnx/half.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace aliquot::onnx {
namespace {

constexpr unsigned kExponentBits = 0x7C00;
constexpr int kFractionBits = 10;
constexpr int kLeastExponent = -14;  // of a normal number
constexpr float kLeastInfinite = 65520.0F;

std::uint16_t half_of(float number) {
    const unsigned sign = std::bit_cast<std::uint32_t>(number) >> 16U & 0x8000U;
    const float size = std::abs(number);
    if (std::isnan(number)) return static_cast<std::uint16_t>(sign | kExponentBits | 0x200U);
    if (size >= kLeastInfinite) return static_cast<std::uint16_t>(sign | kExponentBits);
    if (size == 0) return static_cast<std::uint16_t>(sign);
    int exponent = 0;
    (void)std::frexp(size, &exponent);  // size = f * 2^exponent, f in [0.5, 1)
    const int scale = std::max(exponent - 1, kLeastExponent);
    // In units of the last place; nearbyint() rounds ties to even.
    const auto units =
        static_cast<unsigned>(std::nearbyint(std::ldexp(size, kFractionBits - scale)));
    const unsigned base = static_cast<unsigned>(scale - kLeastExponent)
                          << static_cast<unsigned>(kFractionBits);
    return static_cast<std::uint16_t>(sign | (base + units));
}

float number_of(std::uint16_t half) {
    const unsigned exponent = half >> 10U & 0x1FU;
    const auto fraction = static_cast<float>(half & 0x3FFU);
    float size = 0;
    if (exponent == 0x1F) {
        size = fraction == 0 ? std::numeric_limits<float>::infinity()
                             : std::numeric_limits<float>::quiet_NaN();
    } else if (exponent == 0) {
        size = std::ldexp(fraction, kLeastExponent - kFractionBits);
    } else {
        size = std::ldexp(fraction + 1024.0F,
                          static_cast<int>(exponent) - 1 + kLeastExponent - kFractionBits);
    }
    return (half & 0x8000U) != 0 ? -size : size;
}

}  // namespace

std::vector<std::uint16_t> to_half(std::span<const float> numbers) {
    std::vector<std::uint16_t> halves(numbers.size());
    for (std::size_t i = 0; i < numbers.size(); ++i) halves[i] = half_of(numbers[i]);
    return halves;
}

std::vector<float> from_half(std::span<const std::uint16_t> numbers) {
    std::vector<float> floats(numbers.size());
    for (std::size_t i = 0; i < numbers.size(); ++i) floats[i] = number_of(numbers[i]);
    return floats;
}

}  // namespace aliquot::onnx
