// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "cost/report.h"
#include "cost_store/accounts.h"
#include "page/node_tables.h"
#include "page/recurring.h"
#include "page/table.h"

namespace aliquot::page {

/// Owners that are listed at most, the dearest first; the others are added up as one.
inline constexpr std::size_t kMostCostLines = 500;

/// "costs": who had what of the bill and how much of it idle, and what nobody had; "costSteps": the trend. Amounts
/// are in millionths of the currency, as whole numbers.
/// currency   "USD"
std::vector<Table> cost_tables(const cost::Report& report, const std::string& currency);

/// The costs of a page, asked for again when a minute has passed. Not thread-safe.
class CostLook {
public:
    using Ask = Recurring<cost::Report>::Ask;
    using Steady = std::chrono::steady_clock::time_point;
    static constexpr std::chrono::seconds kAgain{60};

    /// ask   called by another thread, one call at a time; empty: nobody keeps costs
    CostLook(Ask ask, std::string currency)
        : report_(std::move(ask), kAgain), currency_(std::move(currency)) {}

    /// Adds the tables; a remark where the store cannot be asked, and then what it said last.
    void add_to(Sight& sight, Steady now = std::chrono::steady_clock::now());

private:
    Recurring<cost::Report> report_;
    std::string currency_;
    std::string problem_;
    std::vector<Table> tables_;
};

/// Of what accounts keep of the last seven days.
/// accounts   outlive it; null: nobody keeps costs
CostLook look_at(cost_store::Accounts* accounts, cost::By by);

}  // namespace aliquot::page
