// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace aliquot::syntax {

/// The same length and lines, but valid UTF-8 without control characters: each bad byte becomes '?', CR
/// and the byte order mark at the front become blanks. Any bytes.
std::string clean_text(std::string_view bytes);

}  // namespace aliquot::syntax
