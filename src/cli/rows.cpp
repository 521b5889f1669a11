// SPDX-License-Identifier: Apache-2.0
#include "cli/rows.h"

#include <nlohmann/json.hpp>
#include <ostream>

namespace aliquot::cli {

void print_rows(std::ostream& out, std::vector<Row> rows) {
    for (Row& row : rows) {
        for (std::string& cell : row) {
            if (cell.empty()) cell = "-";
        }
    }
    out << in_columns(rows);
}

std::string cell_of(const nlohmann::ordered_json& object, const char* key) {
    const auto found = object.find(key);
    if (found == object.end() || found->is_null()) return "";
    return found->is_string() ? found->get<std::string>() : found->dump();
}

}  // namespace aliquot::cli
