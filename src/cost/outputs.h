// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cost/report.h"
#include "document/value.h"

/// Reports and rows as others read them. Pure.
namespace aliquot::cost {

enum class Output : std::uint8_t { kTable, kWide, kCsv, kJson, kYaml };

/// For a person; kWide has all columns. With a line end.
std::string table_of(const Report& report, Output output);
/// One line for each line of the report, exact amounts.
std::string csv_of(const Report& report);
/// Cells of CSV (RFC 4180) with a line end; what a spreadsheet would take for a formula is quoted as text.
std::string csv_line(const std::vector<std::string>& cells);
/// What docs/guide/cost.md describes.
document::Value document_of(const Report& report);
/// Of kTable, kWide, kCsv, kJson, kYaml; with a line end.
std::string text_of(const Report& report, Output output);

/// Rows as the FinOps Open Cost and Usage Specification names them, as CSV: one charge for each row; what is nobody's is an
/// unused reservation. Columns of our own begin with x_.
/// source   FOCUS 1.2: all columns that it makes a must; without unit prices and SKUs, which a share of an hour does not have
std::string focus_of(const Allocation& allocation, const History& names,
                     const std::string& currency);

/// What OpenCost's /allocation answers: a list with one set for each step.
struct AllocationQuery {
    TimeMs begin = 0;
    TimeMs end = 0;
    TimeMs step = 0;  // 0: all of it
    By by = By::kNamespace;
    bool with_idle = false;  // includeIdle: what nobody had, as __idle__
};
/// How many parts an answer has.
std::size_t parts_of(const AllocationQuery& query);
/// query   of at most kMostParts
inline constexpr std::size_t kMostParts = 2'000;
document::Value opencost_of(const Allocation& allocation, const History& names,
                            const AllocationQuery& query);
/// "today", "yesterday", "week", "lastweek", "month", "lastmonth", "7d", "30m", "2026-11-01T00:00:00Z,2026-11-02T00:00:00Z" or the
/// same in seconds since 1970. Empty: no such window, or longer than 3 years.
std::optional<std::pair<TimeMs, TimeMs>> parse_window(std::string_view text, TimeMs now);

}  // namespace aliquot::cost
