// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

#include "cost/recorder.h"
#include "cost_store/question.h"
#include "http/message.h"

namespace aliquot::cost_store {

class Accounts;

struct AccountsOptions {
    std::string where;  // as Store::open() takes it
    cost::PriceFile prices;
    Retention keep;
    std::chrono::milliseconds put_every{60'000};
    std::function<cost::TimeMs()> now;  // empty: the system's clock
    /// Called before each put, to look at what is held now; calls record().
    std::function<void(Accounts&)> look{};
    /// Asked before each put; false: another process records. Empty: we do.
    std::function<bool()> records{};
    /// A store that does not answer at the start is one that is away, and no error of open().
    bool may_be_away = false;
};

/// What a server records of costs, and what it answers of them. What is seen goes to the store once a minute and when the
/// object ends; a store that is away is tried again with the next put, and of what waits the oldest is given up after an
/// hour: a gap. Thread-safe; a thread of its own.
class Accounts {
public:
    /// errors   of Store::open()
    static Result<std::unique_ptr<Accounts>> open(AccountsOptions options);
    ~Accounts();
    Accounts(const Accounts&) = delete;
    Accounts& operator=(const Accounts&) = delete;

    /// Something has begun or ended. Quick: writes nothing to the store.
    void record(const std::function<void(cost::Recorder&, cost::TimeMs now)>& note);
    /// Looks, puts, divides hours that are over, removes what is old. The thread calls it once a minute.
    Result<Done> tend();

    Result<cost::Report> report(const Question& question);
    Result<std::string> rendered(const Question& question, std::string_view output);
    /// What budgets forbid, as of the last tend(); empty: nothing.
    [[nodiscard]] std::string hold_reason(const std::string& queue, const std::string& user,
                                          const std::string& space) const;
    [[nodiscard]] const cost::PriceFile& prices() const { return options_.prices; }
    [[nodiscard]] cost::TimeMs now() const;

    /// GET /v1/cost?by=&since=&until=&output= and OpenCost's GET /allocation?window=&aggregate=&step=&includeIdle=
    http::Response answer(const http::Request& request);
    /// For Prometheus: what hours that ended since the start have cost, by namespace (else queue) and state; budgets.
    [[nodiscard]] std::string metrics() const;

private:
    explicit Accounts(AccountsOptions options) : options_(std::move(options)) {}
    void run(const std::stop_token& stop);
    Result<Done> with_store(const std::function<Result<Done>(Store&)>& use);
    Result<Done> put_waiting();
    Result<Done> look_after(cost::TimeMs now);
    void freshen();
    void note_budgets(std::vector<cost::BudgetState> states);
    Result<Done> count(Store& store, cost::TimeMs begin, cost::TimeMs end);
    http::Response allocation(const http::Request& request);
    http::Response costs(const http::Request& request);

    const AccountsOptions options_;
    std::mutex tend_mutex_;  // held by tend(): one at a time
    std::atomic<cost::TimeMs> tended_{0};
    mutable std::mutex recorder_mutex_;  // guards what follows; never held while the store works
    cost::Recorder recorder_;
    std::mutex store_mutex_;        // guards what follows
    std::unique_ptr<Store> store_;  // null: it is away
    std::deque<cost::History> waiting_;
    cost::TimeMs rolled_ = 0;    // the hour in which it was done last
    cost::TimeMs retained_ = 0;  // likewise
    cost::TimeMs budgets_at_ = 0;
    mutable std::mutex state_mutex_;  // guards what follows
    std::vector<cost::BudgetState> budgets_;
    struct Counted {
        cost::Micros cost = 0;
        std::int64_t gpu_ms = 0;
    };
    static constexpr std::size_t kMostCounted = 2'000;  // label sets; others are added up as one
    std::map<std::pair<std::string, cost::State>, Counted> counted_;
    std::uint64_t puts_ = 0;
    std::uint64_t failed_puts_ = 0;
    std::condition_variable_any ends_;
    std::jthread thread_;  // last: it uses the others
};

}  // namespace aliquot::cost_store
