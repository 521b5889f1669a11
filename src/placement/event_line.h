// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <charconv>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "placement/engine.h"

/// The words of one line of an event log: `verb key=value key=value -> outcome #check`.
namespace aliquot::placement {

/// Free text without blanks and separators: other bytes than letters, digits and ._/*- as %XX, the
/// empty text as "%-".
std::string encoded(std::string_view text);

/// Exactly this number, in hexadecimal digits.
std::string exact(double number);

std::string fields_of(const Options& options);
std::string fields_of(const MigGeometry& geometry);
std::string fields_of(const NodeSpec& spec);
std::string fields_of(const Request& request);
std::string fields_of(std::span<const TaskType> types);
std::string fields_of(const Placement& where);  // where it lies, without id and cost

std::string outcome_of(const Placement& placed);
std::string outcome_of(const Error& error);

/// Running check over all lines so far: a changed, lost or moved byte breaks it (FNV-1a, 64 bits).
class Chain {
public:
    /// The line as it is written: payload, check, line feed.
    std::string sealed(std::string_view payload);
    /// The check that the next payload must carry.
    std::string next_check(std::string_view payload);

private:
    std::uint64_t sum_ = 0xCBF29CE484222325ULL;
};

/// Reads `key=value` words in a fixed order. The first thing that is wrong stays in error(); what
/// is read after it is empty.
class FieldReader {
public:
    explicit FieldReader(std::string_view line) : rest_(line) {}

    [[nodiscard]] std::string_view word();  // up to the next blank
    [[nodiscard]] std::string_view value(std::string_view key);
    [[nodiscard]] std::string text(std::string_view key);
    [[nodiscard]] std::int64_t number(std::string_view key, std::int64_t least, std::int64_t most);
    [[nodiscard]] std::uint64_t big_number(std::string_view key);
    [[nodiscard]] double real(std::string_view key, double least, double most);
    [[nodiscard]] std::vector<std::int64_t> numbers(std::string_view key, std::size_t most_items,
                                                    std::int64_t most);
    [[nodiscard]] std::vector<std::string> texts(std::string_view key);
    [[nodiscard]] std::vector<std::pair<std::string, std::string>> pairs(std::string_view key);

    [[nodiscard]] Options options();
    [[nodiscard]] MigGeometry geometry();
    [[nodiscard]] NodeSpec node();
    [[nodiscard]] Request request();
    [[nodiscard]] std::vector<TaskType> types();
    [[nodiscard]] Placement where();

    /// Nothing may be left.
    void end();
    [[nodiscard]] const std::string& error() const { return error_; }

private:
    void fail(std::string what);
    std::string decoded(std::string_view key, std::string_view text);
    std::int64_t parsed(std::string_view key, std::string_view text, std::int64_t least,
                        std::int64_t most);

    std::string_view rest_;
    std::string error_;
};

}  // namespace aliquot::placement
