// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

/// Numbers of 16 bits (IEEE 754 binary16). Pure.
namespace aliquot::onnx {

/// To the nearest, ties to even; too large becomes infinite.
std::vector<std::uint16_t> to_half(std::span<const float> numbers);
std::vector<float> from_half(std::span<const std::uint16_t> numbers);

}  // namespace aliquot::onnx
