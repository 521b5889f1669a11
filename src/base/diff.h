// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace aliquot {

struct DiffLine {
    char sign = ' ';        // ' ' in both, '-' in the first only, '+' in the second only
    std::string_view text;  // with its line break where it has one
};

/// Lines that change, and those around them.
struct DiffHunk {
    std::size_t old_begin = 0;  // index of the first line
    std::size_t new_begin = 0;
    std::vector<DiffLine> lines;
};

/// The fewest lines that turn one text into the other, with up to three unchanged lines around each
/// change. Texts that differ in a part of more than 5000 lines have all of it replaced. The views point
/// into the texts. (Debian's libdtl would do it too: a header of a thousand lines for these sixty.)
std::vector<DiffHunk> diff_lines(std::string_view before, std::string_view after);

}  // namespace aliquot
