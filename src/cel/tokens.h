// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace aliquot::cel {

struct Token {
    enum class Kind : unsigned char { kName, kText, kWhole, kNumber, kSign, kEnd };
    Kind kind = Kind::kEnd;
    std::string text{};      // of kText without quotes and escapes
    std::size_t offset = 0;  // where it begins
};

/// Ends in one of kEnd.
/// errors   kInvalidInput: with place: a text that is not closed, a character that CEL has not, what is
///          CEL but not supported here (bytes, unsigned numbers)
Result<std::vector<Token>> read_tokens(std::string_view text);

/// "1:14": line and column from 1, in bytes.
std::string place_text(std::string_view text, std::size_t offset);
/// kInvalidInput: "1:14: what".
Error error_at(std::string_view text, std::size_t offset, std::string_view what);

}  // namespace aliquot::cel
