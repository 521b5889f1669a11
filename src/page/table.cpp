// SPDX-License-Identifier: Apache-2.0
#include "page/table.h"

#include <algorithm>

#include "base/json_text.h"
#include "base/sentence.h"

namespace aliquot::page {

void settle(State& state) {
    for (Table& table : state.tables) {
        const auto by_key = [](const Row& a, const Row& b) { return a.key < b.key; };
        std::stable_sort(table.rows.begin(), table.rows.end(), by_key);
        const auto same = [](const Row& a, const Row& b) { return a.key == b.key; };
        table.rows.erase(std::unique(table.rows.begin(), table.rows.end(), same), table.rows.end());
    }
}

RowWriter::RowWriter(std::string key) {
    append_json_quoted(row_.cells, key);
    row_.key = std::move(key);
}

RowWriter& RowWriter::text(std::string_view words) {
    row_.cells += '\n';
    append_json_quoted(row_.cells, one_line(words, kMostText - 3));
    return *this;
}

RowWriter& RowWriter::number(std::optional<std::uint64_t> value) {
    return raw(value ? std::to_string(*value) : "null");
}

RowWriter& RowWriter::flag(bool value) { return raw(value ? "true" : "false"); }

RowWriter& RowWriter::raw(std::string_view json) {
    row_.cells.append("\n").append(json);
    return *this;
}

Row RowWriter::done() { return std::move(row_); }

std::string columns_json(std::size_t columns, std::span<const Row* const> rows) {
    std::vector<std::size_t> at(rows.size(), 0);  // where the next cell of each row begins
    std::size_t bytes = columns * 3 + 2;
    for (const Row* const row : rows) bytes += row->cells.size() + 1;
    std::string json = "[";
    json.reserve(bytes);
    for (std::size_t column = 0; column < columns; ++column) {
        if (column > 0) json += ',';
        json += '[';
        for (std::size_t i = 0; i < rows.size(); ++i) {
            if (i > 0) json += ',';
            const std::string_view cells = rows[i]->cells;
            const std::size_t end = std::min(cells.find('\n', at[i]), cells.size());
            json += cells.substr(at[i], end - at[i]);
            at[i] = std::min(end + 1, cells.size());
        }
        json += ']';
    }
    return json += ']';
}

std::string tables_json(const State& state) {
    std::string json = "{";
    for (const Table& table : state.tables) {
        if (json.size() > 1) json += ',';
        append_json_quoted(json, table.name);
        json += ":{\"columns\":[";
        for (std::size_t i = 0; i < table.columns.size(); ++i) {
            if (i > 0) json += ',';
            append_json_quoted(json, table.columns[i]);
        }
        std::vector<const Row*> rows;
        rows.reserve(table.rows.size());
        for (const Row& row : table.rows) rows.push_back(&row);
        json += "],\"cells\":";
        json += columns_json(table.columns.size(), rows);
        json += '}';
    }
    return json + "}";
}

}  // namespace aliquot::page
