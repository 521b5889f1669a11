// SPDX-License-Identifier: Apache-2.0
#include "cost_store/question.h"

#include <algorithm>
#include <set>

#include "base/text.h"
#include "cost/budget.h"
#include "cost/saving.h"
#include "document/write.h"

namespace aliquot::cost_store {
namespace {

using cost::TimeMs;

constexpr TimeMs kFineUpTo = 3 * cost::kDayMs;  // then a trend by day is enough
constexpr TimeMs kSavingsOf = 7 * cost::kDayMs;

void note_prices(const cost::Allocation& rows, const cost::History& names, cost::Report& report) {
    std::set<std::string> unpriced;
    for (const cost::Bill& bill : rows.bills) {
        if (names.names.text(bill.price) == "none") unpriced.insert(names.names.text(bill.node));
    }
    if (unpriced.empty()) return;
    constexpr std::size_t kNamed = 3;
    std::vector<std::string> some(unpriced.begin(), unpriced.end());
    const std::size_t more = some.size() > kNamed ? some.size() - kNamed : 0;
    some.resize(some.size() - more);
    report.notes.push_back(concat({"nobody knows what these nodes cost: ", join(some),
                                   more == 0 ? "" : " and " + std::to_string(more) + " more",
                                   "; give a price file (aliquot price check --help)"}));
}

/// Of the last days; rows may be of whole days.
Result<std::vector<cost::Saving>> savings_of(Store& store, const Question& question,
                                             const cost::Allocation& rows, cost::History& names) {
    TimeMs begin = std::max(question.begin, question.end - kSavingsOf);
    if (begin > question.begin) begin = std::max(question.begin, begin - begin % cost::kDayMs);
    begin = cost::hour_of(begin);
    cost::SavingSum sum(names);
    auto done = store.each_interval(begin, question.end, names,
                                    [&](const cost::Interval& one) { sum.see(one); });
    if (!done) return std::move(done).error();
    for (const cost::Row& row : rows.rows) {
        if (row.hour >= begin) sum.pay(row);
    }
    return sum.savings();
}

}  // namespace

const std::vector<std::string>& output_words() {
    static const std::vector<std::string> kWords{"table", "wide", "csv", "json", "yaml", "focus"};
    return kWords;
}

Result<std::vector<cost::BudgetState>> budget_states(Store& store, const cost::PriceFile& file,
                                                     TimeMs now) {
    std::vector<cost::BudgetState> states;
    if (file.budgets.empty()) return states;
    TimeMs begin = now;
    for (const cost::Budget& one : file.budgets) {
        begin = std::min(begin, cost::begin_of(one.period, now));
    }
    cost::History names;
    const auto rows = store.rows(begin, now + 1, names, Store::Grain::kDays);
    if (!rows) return rows.error();
    for (const cost::Budget& one : file.budgets) {
        states.push_back(cost::state_of(one, *rows, names, now));
    }
    return states;
}

Result<cost::Report> report(Store& store, const Question& question, const cost::PriceFile& file,
                            TimeMs now) {
    const bool fine = question.end - question.begin <= kFineUpTo;
    cost::History names;
    const auto rows = fine ? store.rows_between(question.begin, question.end, names)
                           : store.rows(question.begin, question.end, names, Store::Grain::kDays);
    if (!rows) return rows.error();
    cost::Report made =
        cost::report_of(*rows, names, question.by, fine ? cost::kHourMs : cost::kDayMs);
    made.currency = file.currency;
    made.pue = file.pue;
    made.grams_per_kwh = file.grams_per_kwh;
    note_prices(*rows, names, made);
    if (question.with_savings && !made.lines.empty()) {
        auto savings = savings_of(store, question, *rows, names);
        if (!savings) return std::move(savings).error();
        made.savings = *std::move(savings);
    }
    auto budgets = budget_states(store, file, now);
    if (!budgets) return std::move(budgets).error();
    made.budgets = *std::move(budgets);
    return made;
}

Result<std::string> rendered(Store& store, const Question& question, const cost::PriceFile& file,
                             std::string_view output, TimeMs now) {
    if (output == "focus") {
        const auto since = store.hours_since();
        if (!since) return since.error();
        if (question.begin < *since) {  // a charge of a day is none of its first hour
            return Error{ErrorCode::kInvalidInput,
                         "since: charges of FOCUS are by the hour, and hours are kept from " +
                             cost::time_text(*since) + " on; ask since then"};
        }
        cost::History names;
        const auto rows = store.rows(question.begin, question.end, names);
        if (!rows) return rows.error();
        return cost::focus_of(*rows, names, file.currency);
    }
    const auto& words = output_words();
    const auto found = std::ranges::find(words, output);
    if (found == words.end()) {
        return Error{ErrorCode::kInvalidInput, "output: expected one of " + join(words)};
    }
    const auto made = report(store, question, file, now);
    if (!made) return made.error();
    return cost::text_of(*made, static_cast<cost::Output>(found - words.begin()));
}

}  // namespace aliquot::cost_store
