// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace aliquot {

/// Reads an amount of memory as Kubernetes writes it: "3.5Gi", "512Mi", "2G", "1073741824".
///
/// text     a decimal number with at most one point, then nothing, k, M, G, T (powers of 1000) or
///          Ki, Mi, Gi, Ti (powers of 1024); a fraction of a byte is rounded up
/// errors   kInvalidInput: empty, a sign, an unknown suffix, more than 2^63-1 bytes
/// source   Kubernetes resource.Quantity, without exponents and the sub-unit suffixes
Result<std::uint64_t> parse_bytes(std::string_view text);

/// The shortest exact form with a binary suffix and at most two decimals, else rounded down to
/// two decimals: 3758096384 is "3.5Gi", 16106127360 is "15Gi", 1000 is "1000".
std::string bytes_text(std::uint64_t bytes);

}  // namespace aliquot
