// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

/// Numbers in sentences. Inside src/lint only.
namespace aliquot::lint {

struct NumberInText {
    double value = 0;
    std::size_t begin = 0;  // bytes of the text
    std::size_t end = 0;
};

/// "3,328", "16", "1.5"; commas between digits are passed over. The first 50.
std::vector<NumberInText> numbers_in(std::string_view text);

/// A number that belongs to a word: "CUDA Cores: 3,328" or "3,328 CUDA cores". Nothing when the
/// word is there twice.
std::optional<double> number_of(std::string_view text, std::string_view word);

}  // namespace aliquot::lint
