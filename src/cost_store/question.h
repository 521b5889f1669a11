// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cost/outputs.h"
#include "cost/price.h"
#include "cost_store/store.h"

namespace aliquot::cost_store {

/// What somebody wants to know.
struct Question {
    cost::By by = cost::By::kUser;
    cost::TimeMs begin = 0;
    cost::TimeMs end = 0;
    bool with_savings = true;  // reads intervals too
};

/// since, until   "7d" (before now), "2026-11-27", "2026-11-27T14:00:00Z"; empty: 7 days, now
/// errors         kInvalidInput
Result<Question> question_of(std::string_view by, std::string_view since, std::string_view until,
                             cost::TimeMs now);

/// What `aliquot cost -o` takes.
const std::vector<std::string>& output_words();

/// The report, by what is stored. Prices in `file` say budgets, currency and CO2e; what things cost was said when it was
/// recorded.
Result<cost::Report> report(Store& store, const Question& question, const cost::PriceFile& file,
                            cost::TimeMs now);
/// The same as one of output_words(): "table", "wide", "csv", "json", "yaml", "focus".
Result<std::string> rendered(Store& store, const Question& question, const cost::PriceFile& file,
                             std::string_view output, cost::TimeMs now);
/// How far the budgets of a file are spent.
Result<std::vector<cost::BudgetState>> budget_states(Store& store, const cost::PriceFile& file,
                                                     cost::TimeMs now);

}  // namespace aliquot::cost_store
