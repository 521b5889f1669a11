// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace aliquot::cli {

/// One line of a table that is printed without rulers; an empty cell is shown as "-".
using Row = std::vector<std::string>;

/// Prints rows with their columns in line, two blanks apart; the first row is the heading.
void print_rows(std::ostream& out, const std::vector<Row>& rows);

}  // namespace aliquot::cli
