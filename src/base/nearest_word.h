// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace aliquot {

/// The word of `known` that is most like `word`, for "did you mean ...?". Letters may differ in
/// case, be swapped, missing or added: a third of them, at most three. Empty when none is near.
std::string_view nearest_word(std::string_view word, std::span<const std::string_view> known);

/// Whether two words differ in case only (ASCII).
bool same_letters(std::string_view a, std::string_view b);

}  // namespace aliquot
