// SPDX-License-Identifier: Apache-2.0
#include "catalog/table.h"

#include <algorithm>
#include <string>

#include "base/number.h"
#include "base/text.h"

namespace aliquot::catalog {
namespace {

std::string_view without_tilde(std::string_view field) {
    if (field.starts_with('~')) field.remove_prefix(1);
    return field;
}

void read_comment(Table& table, std::string_view line) {
    constexpr std::string_view kDate = "# date: ";
    constexpr std::string_view kSource = "# source: ";
    if (line.starts_with(kDate)) table.date = line.substr(kDate.size());
    if (line.starts_with(kSource)) table.source = line.substr(kSource.size());
}

}  // namespace

Result<Table> read_table(std::string_view text) {
    Table table;
    unsigned number = 0;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        const std::string_view line = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        ++number;
        if (line.empty()) continue;
        if (line.starts_with('#')) {
            read_comment(table, line);
            continue;
        }
        auto fields = split(line, '\t');
        if (table.columns.empty()) {
            table.columns = std::move(fields);
            continue;
        }
        if (fields.size() != table.columns.size()) {
            return Error{ErrorCode::kInvalidInput,
                         "line " + std::to_string(number) + ": " + std::to_string(fields.size()) +
                             " fields found, " + std::to_string(table.columns.size()) +
                             " expected"};
        }
        std::ranges::replace(fields, std::string_view("-"), std::string_view());
        table.rows.push_back(std::move(fields));
    }
    if (table.columns.empty()) return Error{ErrorCode::kInvalidInput, "the table has no columns"};
    if (table.date.empty() || table.source.empty()) {
        return Error{ErrorCode::kInvalidInput, "the table does not tell its date and its source"};
    }
    return table;
}

std::vector<std::string_view> list_of(std::string_view field) {
    if (field.empty()) return {};
    return split(field, ',');
}

double number_of(std::string_view field) {
    field = without_tilde(field);
    return take_number<double>(field).value_or(0);
}

unsigned count_of(std::string_view field) {
    field = without_tilde(field);
    return take_number<unsigned>(field).value_or(0);
}

}  // namespace aliquot::catalog
