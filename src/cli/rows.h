// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace aliquot::cli {

/// One line of a table that is printed without rulers; an empty cell is shown as "-".
using Row = std::vector<std::string>;

/// Prints rows with their columns in line, two blanks apart; the first row is the heading.
void print_rows(std::ostream& out, const std::vector<Row>& rows);

/// The value of a key as a cell: text as it is, anything else as JSON; empty: null, or no such key.
std::string cell_of(const nlohmann::ordered_json& object, const char* key);

}  // namespace aliquot::cli
