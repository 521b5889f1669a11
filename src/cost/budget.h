// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "cost/report.h"

namespace aliquot::cost {

/// What was spent of a budget by `now`. `allocation` reaches back to the beginning of its period.
BudgetState state_of(const Budget& budget, const Allocation& allocation, const History& names,
                     TimeMs now);

/// Why something of this owner must not start; empty: it may.
std::string hold_reason(const std::vector<BudgetState>& budgets, const std::string& queue,
                        const std::string& user, const std::string& space,
                        const std::string& currency);

/// "queue train: 412.80 of 500.00 USD this month (82 %)".
std::string sentence_of(const BudgetState& state, const std::string& currency);

}  // namespace aliquot::cost
