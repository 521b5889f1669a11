// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace aliquot {

/// A JSON string (RFC 8259) with its quotes, for small JSON written by hand. The result is always valid
/// UTF-8: control characters and DEL are escaped, a byte that belongs to no character becomes U+FFFD.
std::string json_quoted(std::string_view text);
void append_json_quoted(std::string& out, std::string_view text);

/// One step of a JSON pointer: "a~1b" of "a/b". source: RFC 6901, section 3
std::string json_pointer_step(std::string_view key);

}  // namespace aliquot
