// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/columns.h"

namespace aliquot::cli {

/// Prints rows with their columns in line; an empty cell is shown as "-", the first row is the heading.
void print_rows(std::ostream& out, std::vector<Row> rows);

/// The value of a key as a cell: text as it is, anything else as JSON; empty: null, or no such key.
std::string cell_of(const nlohmann::ordered_json& object, const char* key);

}  // namespace aliquot::cli
