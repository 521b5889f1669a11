// SPDX-License-Identifier: Apache-2.0
#include "cli/rows.h"

#include <algorithm>
#include <cstddef>
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

}  // namespace aliquot::cli
