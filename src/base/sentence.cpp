// SPDX-License-Identifier: Apache-2.0
#include "base/sentence.h"

#include "base/text.h"

namespace aliquot {

std::string counted(std::size_t count, std::string_view noun) {
    return concat({std::to_string(count), " ", noun, count == 1 ? "" : "s"});
}

std::string did_you_mean(std::string_view near) {
    return near.empty() ? std::string() : concat({", did you mean '", near, "'?"});
}

std::string one_line(std::string_view text, std::size_t most) {
    const bool cut = text.size() > most;
    if (cut) {
        while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xC0U) == 0x80U) --most;
        text = text.substr(0, most);
    }
    std::string line(text);
    for (char& c : line) {
        if (static_cast<unsigned char>(c) < ' ' || c == 0x7F) c = ' ';
    }
    return cut ? line + "..." : line;
}

}  // namespace aliquot
