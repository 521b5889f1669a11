// SPDX-License-Identifier: Apache-2.0
#include "cost/budget.h"

#include "base/text.h"

namespace aliquot::cost {
namespace {

constexpr Micros kHundredPercent = 100;

std::string_view this_period(Budget::Period period) {
    return period == Budget::Period::kDay    ? "today"
           : period == Budget::Period::kWeek ? "this week"
                                             : "this month";
}

const std::string& owner_of(const Budget& budget, const std::string& queue, const std::string& user,
                            const std::string& space) {
    return budget.by == Budget::By::kQueue ? queue : budget.by == Budget::By::kUser ? user : space;
}

}  // namespace

bool BudgetState::warns() const {
    // Without a product that could be too large.
    return spent >= budget.amount / kHundredPercent * budget.warn_percent +
                        budget.amount % kHundredPercent * budget.warn_percent / kHundredPercent;
}

BudgetState state_of(const Budget& budget, const Allocation& allocation, const History& names,
                     TimeMs now) {
    BudgetState state{.budget = budget, .begin = begin_of(budget.period, now)};
    for (const Row& row : allocation.rows) {
        if (row.hour < state.begin || row.hour > now || row.owner == 0) continue;
        const Owner& owner = names.owners[row.owner];
        const std::string& name =
            owner_of(budget, names.names.text(owner.queue), names.names.text(owner.user),
                     names.names.text(owner.space));
        if (name == budget.name) state.spent += row.total();
    }
    return state;
}

std::string sentence_of(const BudgetState& state, const std::string& currency) {
    const Budget& budget = state.budget;
    const Micros percent = budget.amount == 0
                               ? kHundredPercent
                               : static_cast<Micros>(static_cast<double>(state.spent) *
                                                     static_cast<double>(kHundredPercent) /
                                                     static_cast<double>(budget.amount));
    return concat({word(budget.by), " ", budget.name, ": ", money_text(state.spent, kCents), " of ",
                   money_text(budget.amount, kCents), " ", currency, " ",
                   this_period(budget.period), " (", std::to_string(percent), " %)"});
}

std::string hold_reason(const std::vector<BudgetState>& budgets, const std::string& queue,
                        const std::string& user, const std::string& space,
                        const std::string& currency) {
    for (const BudgetState& state : budgets) {
        const Budget& budget = state.budget;
        if (!budget.hold || !state.is_spent()) continue;
        if (owner_of(budget, queue, user, space) != budget.name) continue;
        return "the budget is spent: " + sentence_of(state, currency);
    }
    return "";
}

}  // namespace aliquot::cost
