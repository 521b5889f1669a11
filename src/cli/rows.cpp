// SPDX-License-Identifier: Apache-2.0
#include "cli/rows.h"

#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <ostream>

namespace aliquot::cli {

void print_rows(std::ostream& out, const std::vector<Row>& rows) {
    std::vector<std::size_t> widths;
    for (const Row& row : rows) {
        widths.resize(std::max(widths.size(), row.size()));
        for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
    }
    for (const Row& row : rows) {
        std::string line;
        for (std::size_t i = 0; i < row.size(); ++i) {
            line += row[i].empty() ? "-" : row[i];
            const std::size_t shown = std::max<std::size_t>(row[i].size(), 1);
            if (i + 1 < row.size()) line.append(widths[i] + 2 - shown, ' ');
        }
        out << line << '\n';
    }
}

std::string cell_of(const nlohmann::ordered_json& object, const char* key) {
    const auto found = object.find(key);
    if (found == object.end() || found->is_null()) return "";
    return found->is_string() ? found->get<std::string>() : found->dump();
}

}  // namespace aliquot::cli
