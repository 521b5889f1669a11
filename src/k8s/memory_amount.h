// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace aliquot::k8s {

/// Reads an amount of memory of our own settings, in the words of Kubernetes: "3.5Gi", "512Mi",
/// "2G", "1e9", "1073741824".
///
/// text     a Quantity without blanks; a fraction of a byte is rounded up
/// errors   kInvalidInput: not a quantity, below 0, more than 2^63-1 bytes, or thousandths of a byte
///          ("512m", which Kubernetes takes and nobody means)
Result<std::uint64_t> parse_bytes(std::string_view text);

/// The shortest exact form with a binary suffix and at most two decimals, else rounded down to
/// two decimals: 3758096384 is "3.5Gi", 16106127360 is "15Gi", 1000 is "1000".
std::string bytes_text(std::uint64_t bytes);

}  // namespace aliquot::k8s
