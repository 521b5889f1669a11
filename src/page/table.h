// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// What the built-in web page shows: tables of rows, the changes between two moments, the history of the last
/// hours, and the files of web/ that draw them in a browser.
namespace aliquot::page {

/// A row: its name for life, and its cells as JSON, each on a line of its own; the first is that name.
struct Row {
    std::string key;
    std::string cells;
};

struct Table {
    std::string name;                       // "gpus"
    std::vector<std::string_view> columns;  // of literals; the first is the key
    std::vector<Row> rows;
};

/// All that is shown at one moment.
struct State {
    std::vector<Table> tables;
    std::string about = "{}";  // a JSON object: what the page is of
};

/// Orders rows by their keys and drops the second of two with the same key.
void settle(State& state);

/// Writes a row cell by cell. Texts are cut after kMostText bytes; their control characters become blanks.
class RowWriter {
public:
    static constexpr std::size_t kMostText = 600;

    explicit RowWriter(std::string key);
    RowWriter& text(std::string_view words);
    RowWriter& number(std::optional<std::uint64_t> value);  // empty: null
    RowWriter& flag(bool value);
    /// JSON as it is, on one line.
    RowWriter& raw(std::string_view json);
    [[nodiscard]] Row done();  // once: the row is moved out

private:
    Row row_;
};

/// Cells by column, because like beside like is a quarter less once compressed: [["a","b"],[1,2]].
/// rows   each with a cell for each of `columns`
std::string columns_json(std::size_t columns, std::span<const Row* const> rows);

/// The tables as a JSON object: {"gpus":{"columns":["gpu",...],"cells":[["a",...],...]},...}.
std::string tables_json(const State& state);

}  // namespace aliquot::page
