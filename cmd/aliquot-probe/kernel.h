// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace aliquot::probe {

/// The name of the kernel in kKernelText.
inline constexpr const char* kKernelName = "aliquot_probe";

/// out[i] = bits of (a[i] * b[i] + a[i], rounded once) xor i * 2654435761. Parameters: the three
/// arrays' addresses, their length (32 bits).
///
/// Compiled by the driver: sm_50 is what every driver since 2014 takes for any later GPU.
extern const char* const kKernelText;

struct Operands {
    std::vector<float> a;
    std::vector<float> b;
};

/// Numbers of many sizes, the same each time.
Operands operands(std::uint32_t count);

/// What the kernel must give, computed here.
std::vector<std::uint32_t> expected_result(const std::vector<float>& a,
                                           const std::vector<float>& b);

}  // namespace aliquot::probe
