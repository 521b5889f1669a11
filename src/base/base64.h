// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

/// Standard alphabet, padded. source: RFC 4648, section 4
namespace aliquot {

/// One line.
std::string encode_base64(std::string_view bytes);

/// Line breaks do not count, as in Go. Empty optional: another sign, or padding that is missing or wrong.
std::optional<std::string> decode_base64(std::string_view text);

}  // namespace aliquot
