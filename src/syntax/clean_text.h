// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace aliquot::syntax {

/// What editors of Windows begin a UTF-8 file with. Whoever reads a file takes it off first.
inline constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

/// The same length and lines, but valid UTF-8 without control characters: each bad byte becomes '?', CR
/// becomes a blank. Any bytes.
std::string clean_text(std::string_view bytes);

}  // namespace aliquot::syntax
