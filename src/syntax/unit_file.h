// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

/// Unit files of systemd: sections with lines KEY=VALUE. Pure, any thread.
namespace aliquot::syntax {

struct UnitLine {
    std::string section;     // "Service"
    std::string key;         // "ExecStart"
    std::string value;       // without blanks around it; continued lines are joined by a blank
    std::size_t offset = 0;  // of the key, in the text
};

/// Whether the first line that says something is the head of a section that units have.
bool looks_like_unit(std::string_view text);

/// The lines in their order. Lines that are none, and those before the first section, are left out.
std::vector<UnitLine> read_unit(std::string_view text);

/// The words of a value as systemd parts it: quotes hold blanks together and are taken off, a backslash
/// takes the next character as it is.
std::vector<std::string> unit_words(std::string_view value);

}  // namespace aliquot::syntax
