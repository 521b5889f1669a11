// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

/// Traces of clusters: node lists, task lists and arrival orders as CSV, and replaying them.
namespace aliquot::sim::trace {

/// What a CSV text may have at most; a larger one is refused, whatever it says.
struct CsvLimits {
    std::size_t bytes = 256U << 20U;
    std::size_t line_bytes = 64U << 10U;
    std::size_t columns = 64;
    std::size_t rows = 5'000'000;
};

/// One field of a row. Lives until the next row is read.
struct CsvField {
    std::string_view text;  // without quotes, and without blanks around it
    unsigned column = 0;    // of its first byte in the line, from 1
};

/// Reads CSV (RFC 4180) row by row: commas, fields in double quotes with "" for a quote, LF or CRLF.
/// A byte order mark, empty lines and lines that begin with # are passed over. A line break inside
/// quotes is refused, so a row is one line. Never throws; any bytes are accepted and answered.
class CsvReader {
public:
    /// name   of the file, for messages
    /// text   must outlive the reader
    CsvReader(std::string name, std::string_view text, CsvLimits limits = {});

    /// True: a row was read; false: there are no more.
    /// errors   kInvalidInput: broken quotes, a NUL byte, or a limit; with its place
    Result<bool> next();

    [[nodiscard]] std::span<const CsvField> fields() const { return fields_; }
    [[nodiscard]] unsigned line() const { return line_; }  // of the current row, from 1
    [[nodiscard]] const std::string& name() const { return name_; }

    /// kInvalidInput: "nodes.csv:3:14: <message>", at a place of the current row.
    [[nodiscard]] Error wrong(unsigned column, const std::string& message) const;

private:
    Result<Done> split(std::string_view row);
    Result<std::size_t> read_quoted(std::string_view row, std::size_t start);

    std::string name_;
    std::string_view text_;
    CsvLimits limits_;
    std::size_t position_ = 0;
    std::size_t rows_ = 0;
    unsigned line_ = 0;
    unsigned shift_ = 0;  // bytes of the line before the row: a byte order mark
    std::vector<CsvField> fields_;
    std::deque<std::string> unquoted_;  // fields whose text is not in text_ as it stands
};

/// A value for a message: in quotes, at most 40 bytes of it, nothing unprintable.
std::string shown(std::string_view value);

/// The columns of a CSV with a header line, by name in any order; unknown ones are passed over.
class CsvTable {
public:
    static constexpr std::size_t kAbsent = static_cast<std::size_t>(-1);

    explicit CsvTable(CsvReader& reader) : reader_(reader) {}

    /// Reads the header line.
    /// what       "a node list": for messages
    /// columns    all that have a meaning; `required` first ones of them must be there
    /// errors     kInvalidInput: no header, a required column missing, a column twice
    Result<Done> read_header(std::string_view what, std::span<const std::string_view> columns,
                             std::size_t required);

    /// The next row; false at the end. errors: as many fields as columns are expected
    Result<bool> next();

    [[nodiscard]] bool has(std::size_t column) const { return at_[column] != kAbsent; }
    /// The field of a column; an empty one at the end of the line when the column is absent.
    [[nodiscard]] CsvField field(std::size_t column) const;

    /// A whole number. An empty field is `otherwise` if that is given (optional columns).
    Result<std::int64_t> number(std::size_t column, std::int64_t least, std::int64_t most,
                                const std::int64_t* otherwise = nullptr) const;
    /// A decimal number times `scale` (a power of ten), rounded; an empty field is 0.
    Result<std::int64_t> decimal(std::size_t column, std::int64_t scale, std::int64_t most) const;
    /// 0, 1, true or false; an empty field is false.
    Result<bool> flag(std::size_t column) const;
    /// The number of a column goes to `to`, unless something is wrong in `done` already or then.
    template <class Number>
    void take(std::size_t column, std::int64_t least, std::int64_t most, Number& to,
              Result<Done>& done, const std::int64_t* otherwise = nullptr) const {
        if (!done) return;
        auto value = number(column, least, most, otherwise);
        if (value) to = static_cast<Number>(*value);
        if (!value) done = std::move(value).error();
    }

    /// kInvalidInput at the field of a column: "f:2:5: gpu is '17': ...".
    [[nodiscard]] Error wrong(std::size_t column, const std::string& expected) const;
    [[nodiscard]] CsvReader& reader() const { return reader_; }

private:
    CsvReader& reader_;
    std::span<const std::string_view> columns_;
    std::vector<std::size_t> at_;
    std::size_t width_ = 0;
};

}  // namespace aliquot::sim::trace
