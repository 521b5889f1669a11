// SPDX-License-Identifier: Apache-2.0
#include "cost_store/accounts.h"

#include <gtest/gtest.h>

#include <atomic>

#include "document/json.h"
#include "document/path.h"
#include "os/temporary_directory.h"

namespace aliquot::cost_store {
namespace {

using cost::kDayMs;
using cost::kHourMs;
using cost::TimeMs;

constexpr TimeMs kStart = 1'795'737'600'000;  // 2026-11-27
constexpr TimeMs kMinute = 60'000;

class AccountsTest : public testing::Test {
protected:
    std::unique_ptr<Accounts> open(cost::PriceFile prices = {}) {
        AccountsOptions options;
        options.where = (directory_.path() / "cost.sqlite").native();
        options.prices = std::move(prices);
        options.put_every = std::chrono::hours(24);  // the tests call tend()
        options.now = [this] { return now_.load(); };
        auto opened = Accounts::open(std::move(options));
        EXPECT_TRUE(opened.ok()) << (opened ? "" : opened.error().message);
        return *std::move(opened);
    }
    /// A minute after a minute until `end`; user ann holds the GPU from the first on.
    void live(Accounts& accounts, TimeMs end, bool held = true) {
        while (now_ < end) {
            accounts.record([&](cost::Recorder& recorder, TimeMs now) {
                recorder.watch({.name = "n1",
                                .model = "L4",
                                .devices = {"GPU-1"},
                                .price = {.rate = 3'600'000, .version = "test 1", .source = ""}},
                               now);
                if (!held) return;
                recorder.hold(
                    "n1", "a",
                    {.queue = "train", .user = "ann", .device = "GPU-1", .share = cost::kWholeGpu},
                    now);
            });
            EXPECT_TRUE(accounts.tend().ok());
            now_ += kMinute;
        }
    }
    cost::Micros bill(Accounts& accounts) {
        const auto made = accounts.report({.begin = kStart - kDayMs, .end = kStart + 30 * kDayMs});
        EXPECT_TRUE(made.ok()) << (made ? "" : made.error().message);
        EXPECT_EQ(made->sums.total(), made->bill);
        return made->bill;
    }
    http::Response ask(Accounts& accounts, const std::string& target) {
        http::Request request;
        request.method = "GET";
        http::read_target(target, request);
        return accounts.answer(request);
    }
    os::TemporaryDirectory directory_;
    std::atomic<TimeMs> now_{kStart};
};

TEST(AccountsOfAStoreThatIsAway, BeginWhereItMayBe) {
    AccountsOptions options;
    options.where = "postgresql://127.0.0.1:1/costs";  // nobody listens there
    EXPECT_FALSE(Accounts::open(options).ok());
    options.may_be_away = true;
    const auto accounts = Accounts::open(options);
    ASSERT_TRUE(accounts.ok()) << accounts.error().message;
    EXPECT_EQ((*accounts)->hold_reason("", "", "lab"), "");
    options.where = "/proc/no/costs.sqlite";
    EXPECT_FALSE(Accounts::open(options).ok()) << "a place that is none is still an error";
}

TEST_F(AccountsTest, WhatIsSeenIsStoredAndAnswered) {
    const auto accounts = open();
    live(*accounts, kStart + 3 * kHourMs);
    EXPECT_EQ(bill(*accounts), 3 * kHourMs - kMinute);
    const auto answer = ask(*accounts, "/v1/cost?by=queue&since=1d");
    EXPECT_EQ(answer.status, 200);
    const auto value = document::parse_json(answer.body);
    ASSERT_TRUE(value.ok()) << answer.body;
    EXPECT_EQ(document::text_at(document::items_at(*value, {"lines"}).at(0), {"key"}), "train");
    EXPECT_EQ(ask(*accounts, "/allocation?window=today&aggregate=user").status, 200);
    // Half an hour is half an hour, also where it begins within one.
    now_ = kStart + 150 * kMinute;
    const auto part =
        document::parse_json(ask(*accounts, "/allocation?window=45m&aggregate=controller").body);
    ASSERT_TRUE(part.ok());
    const auto& sets = document::items_at(*part, {"data"});
    ASSERT_EQ(sets.size(), 1U);
    EXPECT_EQ(document::text_at(sets[0], {"__unallocated__", "gpuHours"}), "0.75");
    const auto table = ask(*accounts, "/v1/cost?output=table");
    EXPECT_NE(table.body.find("ann"), std::string::npos);
}

TEST_F(AccountsTest, WhatItCannotAnswerItSays) {
    const auto accounts = open();
    EXPECT_EQ(ask(*accounts, "/v1/cost?by=colour").status, 422);
    EXPECT_EQ(ask(*accounts, "/v1/cost?since=soon").status, 422);
    EXPECT_EQ(ask(*accounts, "/v1/cost?output=pdf").status, 422);
    EXPECT_EQ(ask(*accounts, "/v1/cost?since=2026-11-20&until=2026-11-10").status, 422);
    EXPECT_EQ(ask(*accounts, "/allocation").status, 400);
    EXPECT_EQ(ask(*accounts, "/allocation?window=1d&aggregate=label:x").status, 400);
    EXPECT_EQ(ask(*accounts, "/allocation?window=1d&step=1s").status, 400);
    EXPECT_EQ(ask(*accounts, "/other").status, 404);
    const auto long_ago = ask(*accounts, "/allocation?window=10y&step=1m");
    EXPECT_EQ(long_ago.status, 400);
    EXPECT_NE(long_ago.body.find("of 3 years at most"), std::string::npos) << long_ago.body;
    const auto fine = ask(*accounts, "/allocation?window=1000d&step=1h");
    EXPECT_EQ(fine.status, 400);
    EXPECT_NE(fine.body.find("step: the window has 24000 of them, and at most 2000"),
              std::string::npos)
        << fine.body.substr(0, 200);
    EXPECT_EQ(ask(*accounts, "/allocation?window=1000d&step=1h&accumulate=true").status, 200);
    EXPECT_EQ(ask(*accounts, "/allocation?window=1000d&step=1d").status, 200);
}

TEST_F(AccountsTest, AnotherOneGoesOnWhereItHasEnded) {
    { live(*open(), kStart + kHourMs / 2); }
    now_ += 5 * kMinute;
    const auto accounts = open();
    live(*accounts, kStart + kHourMs);
    // What is after the last look of one and before the first of the next is a gap.
    EXPECT_EQ(bill(*accounts), 29 * kMinute + 24 * kMinute);
}

TEST_F(AccountsTest, ABudgetWarnsAndHolds) {
    cost::PriceFile prices;
    prices.budgets = {
        {.by = cost::Budget::By::kUser, .name = "ann", .amount = 2 * kHourMs, .hold = true}};
    const auto accounts = open(prices);
    live(*accounts, kStart + kHourMs);
    EXPECT_EQ(accounts->hold_reason("train", "ann", ""), "");
    live(*accounts, kStart + 2 * kHourMs + 10 * kMinute);
    EXPECT_NE(accounts->hold_reason("train", "ann", ""), "");
    EXPECT_EQ(accounts->hold_reason("train", "bob", ""), "");
    EXPECT_NE(accounts->metrics().find("aliquot_cost_budget_spent{by=\"user\",name=\"ann\"}"),
              std::string::npos);
}

TEST_F(AccountsTest, CountersGrowWithEachHourThatIsOver) {
    const auto accounts = open();
    live(*accounts, kStart + kHourMs + 5 * kMinute);
    EXPECT_NE(accounts->metrics().find("aliquot_cost_total{owner=\"train\",state=\"busy\"} 3.60"),
              std::string::npos)
        << accounts->metrics();
    EXPECT_NE(accounts->metrics().find(
                  "aliquot_cost_gpu_seconds_total{owner=\"train\",state=\"busy\"} 3600"),
              std::string::npos);
}

TEST_F(AccountsTest, AStoreThatIsAwayGetsItLater) {
    const auto accounts = open();
    live(*accounts, kStart + 10 * kMinute);
    // Its directory is gone: SQLite says so when it is opened again, not before. So a table.
    {
        auto other = open_sqlite(directory_.path() / "cost.sqlite");
        ASSERT_TRUE(other.ok());
        ASSERT_TRUE((*other)->script("ALTER TABLE cost_spans RENAME TO away").ok());
        accounts->record([&](cost::Recorder& recorder, TimeMs now) {
            recorder.watch({.name = "n1",
                            .model = "L4",
                            .devices = {"GPU-1"},
                            .price = {.rate = 3'600'000, .version = "test 1", .source = ""}},
                           now);
        });
        EXPECT_FALSE(accounts->tend().ok());
        ASSERT_TRUE((*other)->script("ALTER TABLE away RENAME TO cost_spans").ok());
    }
    now_ += kMinute;
    live(*accounts, kStart + 20 * kMinute);
    EXPECT_EQ(bill(*accounts), 19 * kMinute);
}

}  // namespace
}  // namespace aliquot::cost_store
