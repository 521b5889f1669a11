// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "base/text.h"

/// Words of a text, as every reader asks for them. Any thread.
namespace aliquot::syntax {

bool contains_word(std::string_view text, std::string_view word);     // ignoring case; whole words
inline bool contains(std::string_view text, std::string_view part) {  // ignoring case
    return contains_folded(text, part);
}

}  // namespace aliquot::syntax
