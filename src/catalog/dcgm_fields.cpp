// SPDX-License-Identifier: Apache-2.0
#include "catalog/dcgm_fields.h"

#include <algorithm>
#include <string>
#include <vector>

#include "catalog/embedded.h"
#include "catalog/table.h"

namespace aliquot::catalog {
namespace {

/// Sorted.
const std::vector<std::string>& all_fields() {
    static const std::vector<std::string> kNames = [] {
        std::vector<std::string> names;
        const auto table = read_table(kDcgmFieldTable);
        if (!table) return names;
        for (const auto& row : table->rows) names.emplace_back(row[0]);
        std::ranges::sort(names);
        return names;
    }();
    return kNames;
}

}  // namespace

bool is_dcgm_field(std::string_view name) { return std::ranges::binary_search(all_fields(), name); }

bool begins_dcgm_field(std::string_view text) {
    const auto found = std::ranges::lower_bound(all_fields(), text);
    return found != all_fields().end() && std::string_view(*found).starts_with(text);
}

}  // namespace aliquot::catalog
