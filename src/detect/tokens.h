// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "detect/phrases.h"

namespace aliquot::detect {

/// Parts `text` into tokens (runs of letters, digits and bytes above 127) and hands those that the
/// vocabulary knows to `phrases`. One pass over any bytes, no allocation.
///
/// text     shorter than 4 GiB
/// prose    line breaks do not end a sentence when the text goes on in lower case
void scan(std::string_view text, const Vocabulary& vocabulary, bool prose, PhraseFinder& phrases);

}  // namespace aliquot::detect
