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
    row_.json = "[";
    append_json_quoted(row_.json, key);
    row_.key = std::move(key);
}

RowWriter& RowWriter::text(std::string_view words) {
    row_.json += ',';
    append_json_quoted(row_.json, one_line(words, kMostText - 3));
    return *this;
}

RowWriter& RowWriter::number(std::optional<std::uint64_t> value) {
    row_.json += ',';
    row_.json += value ? std::to_string(*value) : "null";
    return *this;
}

RowWriter& RowWriter::flag(bool value) { return raw(value ? "true" : "false"); }

RowWriter& RowWriter::raw(std::string_view json) {
    row_.json.append(",").append(json);
    return *this;
}

Row RowWriter::done() {
    row_.json += ']';
    return std::move(row_);
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
        json += "],\"rows\":[";
        for (std::size_t i = 0; i < table.rows.size(); ++i) {
            if (i > 0) json += ',';
            json += table.rows[i].json;
        }
        json += "]}";
    }
    return json + "}";
}

}  // namespace aliquot::page
