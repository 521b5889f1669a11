// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// What several checks read out of texts. Pure.
namespace aliquot::doctor {

/// A driver version: digits in two or three parts.
bool is_driver_version(std::string_view word);

/// The first driver version in a line ("... Kernel Module  580.95.05  Wed ..."); empty: none.
std::string driver_version_in(std::string_view line);

/// Seconds since 1970 of a time of RFC 3339; empty when it is not such a text.
std::optional<std::int64_t> time_of(std::string_view text);

/// At most `limit` bytes, "..." at the end when something was cut; control letters become blanks.
std::string clip(std::string_view text, std::size_t limit = 200);

}  // namespace aliquot::doctor
