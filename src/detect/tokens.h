// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "detect/vocabulary.h"

namespace aliquot::detect {

/// A token of the text that the vocabulary knows.
struct Hit {
    std::uint32_t begin = 0;  // bytes
    std::uint32_t end = 0;
    std::uint32_t index = 0;     // number of the token in the text
    std::uint32_t sentence = 0;  // number of the sentence or, in files, of the line
    WordId word = kNoWord;
    bool comment = false;  // on a line that is commented out
};

/// Parts `text` into tokens (runs of letters, digits and bytes above 127) and keeps those that the
/// vocabulary knows. One pass, no allocation but the growth of `hits`, which is cleared first.
///
/// prose    line breaks do not end a sentence when the text goes on in lower case
void scan(std::string_view text, const Vocabulary& vocabulary, bool prose, std::vector<Hit>& hits);

}  // namespace aliquot::detect
