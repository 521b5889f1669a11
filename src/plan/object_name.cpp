// SPDX-License-Identifier: Apache-2.0
#include "plan/workload.h"

namespace aliquot::plan {

std::string object_name(std::string_view name) {
    constexpr std::size_t kLongest = 63;
    std::string word;
    for (const char c : name) {
        const bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
        const char low = c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
        const bool letter = plain || low != c;
        if (!letter && (word.empty() || word.back() == '-')) continue;
        word += letter ? low : '-';
        if (word.size() == kLongest) break;
    }
    while (word.ends_with('-')) word.pop_back();
    return word;
}

}  // namespace aliquot::plan
