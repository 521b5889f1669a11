// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace aliquot::sim::mps {

/// "3G", "512M", "1024K", "1073741824" in bytes (powers of 1024); empty: none of these.
std::optional<std::uint64_t> parse_amount(std::string_view text);

/// The shortest of them, as the real program answers: "3G", "3500M".
std::string amount_text(std::uint64_t bytes);

}  // namespace aliquot::sim::mps
