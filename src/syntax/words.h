// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

/// Words of a text, as every reader asks for them. Any thread.
namespace aliquot::syntax {

/// Lower-case ASCII.
std::string lower(std::string_view text);
bool contains_word(std::string_view text, std::string_view word);  // ignoring case; whole words
bool contains(std::string_view text, std::string_view part);       // ignoring case
bool starts_with(std::string_view text, std::string_view part);
bool ends_with(std::string_view text, std::string_view part);
std::string_view trim(std::string_view text);
std::vector<std::string_view> split(std::string_view text, char separator);

}  // namespace aliquot::syntax
