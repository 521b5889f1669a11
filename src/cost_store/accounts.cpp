// SPDX-License-Identifier: Apache-2.0
#include "cost_store/accounts.h"

#include <algorithm>

#include "base/log.h"
#include "cost/budget.h"
#include "cost/row.h"
#include "metrics/text.h"

namespace aliquot::cost_store {
namespace {

using cost::TimeMs;

constexpr std::size_t kMostWaiting = 60;  // puts that have failed and are tried again
constexpr TimeMs kBetweenBudgets = 300'000;
/// Agents that are late tell of an hour a little after it.
constexpr TimeMs kSettled = 90'000;

}  // namespace

Result<std::unique_ptr<Accounts>> Accounts::open(AccountsOptions options) {
    std::unique_ptr<Accounts> made(new Accounts(std::move(options)));
    made->rolled_ = cost::hour_of(made->now());
    const auto begun = made->with_store([](Store&) { return Result<Done>(Done{}); });
    const auto done = begun ? made->look_after(made->now()) : begun;
    if (!done && !(made->options_.may_be_away && done.error().code == ErrorCode::kUnavailable)) {
        return done.error();
    }
    made->thread_ =
        std::jthread([accounts = made.get()](const std::stop_token& stop) { accounts->run(stop); });
    return made;
}

Accounts::~Accounts() {
    thread_ = {};
    (void)tend();  // what was seen since
}

TimeMs Accounts::now() const {
    if (options_.now) return options_.now();
    return std::chrono::duration_cast<std::chrono::milliseconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
}

void Accounts::run(const std::stop_token& stop) {
    std::string told;
    while (!stop.stop_requested()) {
        const auto done = tend();
        const std::string problem = done ? "" : done.error().message;
        if (problem != told && !problem.empty()) {
            log::error("cost.not_written", {{"reason", problem}});
        }
        if (problem.empty() && !told.empty()) log::info("cost.written_again");
        told = problem;
        std::mutex mutex;
        std::unique_lock lock(mutex);
        ends_.wait_for(lock, stop, options_.put_every, [] { return false; });
    }
}

void Accounts::record(const std::function<void(cost::Recorder&, TimeMs)>& note) {
    const std::scoped_lock lock(recorder_mutex_);
    note(recorder_, now());
}

Result<Done> Accounts::with_store(const std::function<Result<Done>(Store&)>& use) {
    if (store_ == nullptr) {
        auto store = Store::open(options_.where);
        if (!store) return std::move(store).error();
        store_ = std::make_unique<Store>(*std::move(store));
    }
    auto done = use(*store_);
    // A connection that has broken does not come back by itself.
    if (!done && done.error().code == ErrorCode::kUnavailable) store_.reset();
    return done;
}

Result<Done> Accounts::put_waiting() {
    while (!waiting_.empty()) {
        auto done = with_store([&](Store& store) { return store.put(waiting_.front()); });
        {
            const std::scoped_lock lock(state_mutex_);
            ++(done ? puts_ : failed_puts_);
        }
        if (!done) return done;
        waiting_.pop_front();
    }
    return Done{};
}

Result<Done> Accounts::tend() {
    if (options_.records && !options_.records()) return Done{};
    const std::scoped_lock one(tend_mutex_);
    tended_ = now();
    if (options_.look) options_.look(*this);
    cost::History seen;
    const TimeMs at = now();
    {
        const std::scoped_lock lock(recorder_mutex_);
        seen = recorder_.take();
    }
    const std::scoped_lock lock(store_mutex_);
    if (!seen.spans.empty() || !seen.intervals.empty()) waiting_.push_back(std::move(seen));
    if (waiting_.size() > kMostWaiting) {
        log::error("cost.given_up", {{"puts", waiting_.size() - kMostWaiting}});
        while (waiting_.size() > kMostWaiting) waiting_.pop_front();
    }
    if (auto done = put_waiting(); !done) return done;
    return look_after(at);
}

Result<Done> Accounts::look_after(TimeMs at) {
    const TimeMs hour = cost::hour_of(at - kSettled);
    if (hour > rolled_) {
        auto done = with_store([&](Store& store) -> Result<Done> {
            if (auto rolled = store.roll_up(hour); !rolled) return rolled;
            return count(store, rolled_, hour);
        });
        if (!done) return done;
        rolled_ = hour;
    }
    if (at - retained_ >= cost::kDayMs) {
        auto done = with_store([&](Store& store) { return store.retain(at, options_.keep); });
        if (!done) return done;
        retained_ = at;
    }
    if (options_.prices.budgets.empty() || at - budgets_at_ < kBetweenBudgets) return Done{};
    auto done = with_store([&](Store& store) -> Result<Done> {
        auto states = budget_states(store, options_.prices, at);
        if (!states) return std::move(states).error();
        note_budgets(*std::move(states));
        return Done{};
    });
    if (done) budgets_at_ = at;
    return done;
}

Result<Done> Accounts::count(Store& store, TimeMs begin, TimeMs end) {
    cost::History names;
    const auto rows = store.rows(begin, end, names);
    if (!rows) return rows.error();
    const std::scoped_lock lock(state_mutex_);
    for (const cost::Row& row : rows->rows) {
        const cost::Owner& owner = names.owners[row.owner];
        std::string whose = names.names.text(owner.space != 0 ? owner.space : owner.queue);
        const auto key = std::pair(std::move(whose), row.state);
        const bool room = counted_.size() < kMostCounted || counted_.contains(key);
        Counted& sums = counted_[room ? key : std::pair(std::string("other"), row.state)];
        sums.cost += row.total();
        sums.gpu_ms += row.gpu_ms;
    }
    return Done{};
}

void Accounts::note_budgets(std::vector<cost::BudgetState> states) {
    const std::scoped_lock lock(state_mutex_);
    for (std::size_t i = 0; i < states.size(); ++i) {
        const bool known = i < budgets_.size() && budgets_[i].budget == states[i].budget &&
                           budgets_[i].begin == states[i].begin;
        const auto level = [](const cost::BudgetState& one) {
            return one.is_spent() ? 2 : one.warns() ? 1 : 0;
        };
        if (level(states[i]) == 0 || (known && level(budgets_[i]) == level(states[i]))) continue;
        log::warning(states[i].is_spent() ? "cost.budget_spent" : "cost.budget_nearly_spent",
                     {{"budget", cost::sentence_of(states[i], options_.prices.currency)},
                      {"holds", states[i].budget.hold && states[i].is_spent()}});
    }
    budgets_ = std::move(states);
}

std::string Accounts::hold_reason(const std::string& queue, const std::string& user,
                                  const std::string& space) const {
    const std::scoped_lock lock(state_mutex_);
    return cost::hold_reason(budgets_, queue, user, space, options_.prices.currency);
}

/// Who asks gets what is so now.
void Accounts::freshen() {
    constexpr TimeMs kFresh = 1'000;
    if (now() - tended_ >= kFresh) (void)tend();  // what cannot be written is told by the thread
}

Result<cost::Report> Accounts::report(const Question& question) {
    freshen();
    const std::scoped_lock lock(store_mutex_);
    cost::Report made;
    auto done = with_store([&](Store& store) -> Result<Done> {
        auto answer = cost_store::report(store, question, options_.prices, now());
        if (!answer) return std::move(answer).error();
        made = *std::move(answer);
        return Done{};
    });
    if (!done) return std::move(done).error();
    return made;
}

Result<std::string> Accounts::rendered(const Question& question, std::string_view output) {
    freshen();
    const std::scoped_lock lock(store_mutex_);
    std::string text;
    auto done = with_store([&](Store& store) -> Result<Done> {
        auto answer = cost_store::rendered(store, question, options_.prices, output, now());
        if (!answer) return std::move(answer).error();
        text = *std::move(answer);
        return Done{};
    });
    if (!done) return std::move(done).error();
    return text;
}

std::string Accounts::metrics() const {
    constexpr std::uint64_t kMsPerSecond = 1'000;
    std::string out;
    metrics::Text text(out);
    const std::scoped_lock lock(state_mutex_);
    text.family("aliquot_cost_total",
                "What hours that are over have cost, in units of the price file's currency.",
                "counter");
    const auto row_of = [&](const auto& key) -> metrics::Text& {
        return text.row("").label("owner", key.first).label("state", cost::word(key.second));
    };
    for (const auto& [key, sums] : counted_) row_of(key).is(cost::money_text(sums.cost));
    text.family("aliquot_cost_gpu_seconds_total",
                "Time of GPUs in these hours; a share counts as its part.", "counter");
    for (const auto& [key, sums] : counted_)
        row_of(key).is(static_cast<std::uint64_t>(sums.gpu_ms) / kMsPerSecond);
    const auto budget_row = [&](const cost::BudgetState& one) -> metrics::Text& {
        return text.row("").label("by", cost::word(one.budget.by)).label("name", one.budget.name);
    };
    text.family("aliquot_cost_budget_amount", "A budget, in the currency's units.", "gauge");
    for (const auto& one : budgets_) budget_row(one).is(cost::money_text(one.budget.amount));
    text.family("aliquot_cost_budget_spent", "What is spent of it in its period.", "gauge");
    for (const auto& one : budgets_) budget_row(one).is(cost::money_text(one.spent));
    text.family("aliquot_cost_puts_total", "Writes to the store by what became of them.",
                "counter");
    text.row("").label("result", "written").is(puts_);
    text.row("").label("result", "failed").is(failed_puts_);
    return out;
}

}  // namespace aliquot::cost_store
