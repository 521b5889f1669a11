// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

/// Parts of the sentences that messages are made of. Pure.
namespace aliquot {

/// "a, b, c" of what `each` makes of the elements; as join(), which takes them as they are.
template <class Range, class Each>
std::string listed(const Range& range, const Each& each, std::string_view separator = ", ") {
    std::string text;
    bool first = true;
    for (const auto& one : range) {
        if (!first) text += separator;
        first = false;
        text += std::invoke(each, one);
    }
    return text;
}

/// "1 node", "3 nodes".
std::string counted(std::size_t count, std::string_view noun);

/// What somebody else wrote, so that a line stays a line: control characters become blanks, and what is longer
/// than `most` bytes is cut between characters and ends in "...".
std::string one_line(std::string_view text, std::size_t most = std::string_view::npos);

/// ", did you mean 'near'?"; empty when nothing is near (see nearest_word()).
std::string did_you_mean(std::string_view near);

}  // namespace aliquot
