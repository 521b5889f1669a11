// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "detect/phrases.h"

namespace aliquot::detect {

/// Tokens of phrases that are looked at: more than a MiB of technical prose or of manifests has. A text
/// of nothing else costs most per byte, and what it says it has said long before.
inline constexpr std::size_t kMostWords = 98304;

/// Parts `text` into tokens (runs of letters, digits and bytes above 127) and hands those that the
/// vocabulary knows to `phrases`. One pass over any bytes, no allocation. Ends at the end of the text,
/// or soon after kMostWords tokens that may be part of a phrase; returns how many bytes it went over.
///
/// text     shorter than 4 GiB
/// prose    line breaks do not end a sentence when the text goes on in lower case
std::size_t scan(std::string_view text, const Vocabulary& vocabulary, bool prose,
                 PhraseFinder& phrases);

}  // namespace aliquot::detect
