// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"

namespace aliquot::catalog {

/// A table as it lies in data/: `# key: text` lines, one line of column names, rows. Fields are
/// separated by tabs; `-` is an empty field.
struct Table {
    std::string_view date;    // "2026-11-20"
    std::string_view source;  // in words
    std::vector<std::string_view> columns;
    std::vector<std::vector<std::string_view>> rows;  // each as long as `columns`
};

/// Takes a table apart without copying. Everything points into `text`.
/// errors   kInvalidInput: no date or source, no columns, a row with too many or too few fields
Result<Table> read_table(std::string_view text);

/// The parts of a comma list; none for an empty text.
std::vector<std::string_view> list_of(std::string_view field);

/// A decimal number; 0 when the field is empty or no number. A leading ~ is passed over.
double number_of(std::string_view field);
unsigned count_of(std::string_view field);

}  // namespace aliquot::catalog
