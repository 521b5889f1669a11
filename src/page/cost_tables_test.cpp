// SPDX-License-Identifier: Apache-2.0
#include "page/cost_tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <latch>

namespace aliquot::page {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::UnorderedElementsAre;

cost::Line line(std::string key, cost::State state, cost::Micros amount, bool nobody = false) {
    cost::Line made{.key = std::move(key), .nobody = nobody};
    made.sums.by_state[static_cast<std::size_t>(state)] = amount;
    made.sums.gpu = amount;
    made.sums.gpu_ms[static_cast<std::size_t>(state)] = 7'200'000;
    return made;
}

/// The rows of all tables, a blank between cells.
std::vector<std::string> told(const cost::Report& report) {
    std::vector<std::string> rows;
    for (const Table& table : cost_tables(report, "USD")) {
        for (const Row& row : table.rows) {
            rows.push_back(row.cells);
            std::replace(rows.back().begin(), rows.back().end(), '\n', ' ');
        }
    }
    return rows;
}

TEST(PageCosts, TellWhoHadWhatAndWhatNobodyHad) {
    cost::Report report;
    report.lines = {line("team-a", cost::State::kBusy, 12'500'000),
                    line("team-b", cost::State::kIdle, 3'000'000),
                    line("", cost::State::kFree, 500'000, true)};
    report.steps = {
        {.begin = 86'400'000, .owners = 15'500'000, .idle = 3'000'000, .nobody = 500'000}};
    EXPECT_THAT(told(report), UnorderedElementsAre(
                                  R"("owner/team-a" "team-a" "owner" 12500000 0 7200 "USD")",
                                  R"("owner/team-b" "team-b" "owner" 3000000 3000000 7200 "USD")",
                                  R"("nobody/free" "free" "nobody" 500000 0 7200 "USD")",
                                  R"("86400000" 15500000 3000000 500000)"));
}

TEST(PageCosts, AddUpWhatIsNotListed) {
    cost::Report report;
    for (std::size_t i = 0; i < kMostCostLines + 3; ++i) {
        report.lines.push_back(line("team-" + std::to_string(i), cost::State::kBusy, 2));
    }
    report.lines.push_back(line("", cost::State::kFree, 9, true));
    const auto rows = told(report);
    EXPECT_THAT(rows, Contains(HasSubstr(R"("3 others" "rest" 6 0 21600)")));
    EXPECT_THAT(rows, Contains(HasSubstr(R"("free" "nobody" 9 )")))
        << "what nobody had is always told";
    EXPECT_THAT(rows, Not(Contains(HasSubstr("team-501"))));
}

TEST(PageCosts, AreAskedForOnceAMinuteAndKeptWhereTheStoreIsAway) {
    std::atomic<int> asked{0};
    std::atomic<bool> away{false};
    CostLook look(
        [&]() -> Result<cost::Report> {
            ++asked;
            if (away) return Error{ErrorCode::kUnavailable, "the store is away"};
            cost::Report report;
            report.lines = {line("team-a", cost::State::kBusy, 5)};
            return report;
        },
        "EUR");
    CostLook::Steady now{};
    const auto seen = [&] {
        Sight sight{.title = "", .cluster = {}, .pods = {}, .remarks = {}, .more = {}};
        look.add_to(sight, now);
        return sight;
    };
    while (seen().more.empty()) continue;  // a busy machine may take longer than a look waits
    now += std::chrono::seconds(59);
    EXPECT_EQ(seen().more.size(), 2U);
    EXPECT_EQ(asked, 1);
    away = true;
    now += std::chrono::seconds(1);
    Sight without = seen();
    while (without.remarks.empty()) without = seen();
    EXPECT_EQ(asked, 2);
    EXPECT_EQ(without.more.size(), 2U);
    ASSERT_EQ(without.remarks.size(), 1U);
    EXPECT_EQ(without.remarks[0].what, "the store is away");
    Sight none{.title = "", .cluster = {}, .pods = {}, .remarks = {}, .more = {}};
    CostLook({}, "").add_to(none);
    EXPECT_TRUE(none.more.empty());
}

TEST(PageCosts, AStoreThatDoesNotAnswerKeepsNobodyWaiting) {
    std::latch answers(1);
    std::atomic<int> asked{0};
    CostLook look(
        [&]() -> Result<cost::Report> {
            ++asked;
            answers.wait();
            return cost::Report{};
        },
        "EUR");
    Sight sight{.title = "", .cluster = {}, .pods = {}, .remarks = {}, .more = {}};
    look.add_to(sight, {});
    look.add_to(sight, CostLook::Steady{} + std::chrono::hours(1));
    EXPECT_TRUE(sight.more.empty());
    answers.count_down();
    while (sight.more.empty()) look.add_to(sight, {});
    EXPECT_EQ(asked, 1) << "one question at a time";
}

TEST(PageCosts, TakeAnEmptyReport) { EXPECT_THAT(told({}), IsEmpty()); }

}  // namespace
}  // namespace aliquot::page
