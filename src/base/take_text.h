// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

/// Takes pieces off the front of a text, which is cut to what follows them. Pure; views into the text.
namespace aliquot {

/// What stands before the first `mark`, which goes too; all when it is not there.
std::string_view take_until(std::string_view& text, char mark);
/// The next line, without its break ("\n").
inline std::string_view take_line(std::string_view& text) { return take_until(text, '\n'); }
/// The next word between blanks, and the blanks before it; empty: there is none.
std::string_view take_word(std::string_view& text);

}  // namespace aliquot
