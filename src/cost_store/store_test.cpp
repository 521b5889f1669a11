// SPDX-License-Identifier: Apache-2.0
#include "cost_store/store.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <random>

#include "cost/allocate.h"
#include "cost/report.h"
#include "cost_store/question.h"
#include "cost_store/test_server.h"

namespace aliquot::cost_store {
namespace {

namespace fs = std::filesystem;
using cost::History;
using cost::kDayMs;
using cost::kHourMs;
using cost::TimeMs;

constexpr TimeMs kStart = 1'790'000'000'000 / kDayMs * kDayMs;

class StoreTest : public testing::Test {
protected:
    void SetUp() override {
        std::string pattern = "/tmp/aliquot-cost-XXXXXX";
        directory = ::mkdtemp(pattern.data());
    }
    void TearDown() override { fs::remove_all(directory); }
    [[nodiscard]] std::string file() const { return directory / "cost.db"; }
    fs::path directory;
};

/// Two nodes for some days, and jobs on them.
History days_of_work(unsigned days) {
    History history;
    std::mt19937 random(days);
    for (const char* name : {"n1", "n2"}) {
        const auto node = history.names.add(name);
        const auto gpu = history.names.add(std::string("GPU-") + name);
        history.spans.push_back({.begin = kStart,
                                 .end = kStart + days * kDayMs,
                                 .node = node,
                                 .model = history.names.add("L4"),
                                 .price = history.names.add("site 1"),
                                 .rate = 1'234'567,
                                 .cpu_milli = 16'000,
                                 .memory_mib = 65'536,
                                 .devices = {gpu}});
        for (TimeMs at = kStart; at < kStart + days * kDayMs;) {
            const TimeMs length = std::uniform_int_distribution<TimeMs>(1, 3 * kHourMs)(random);
            history.intervals.push_back(
                {.begin = at,
                 .end = at + length,
                 .node = node,
                 .device = gpu,
                 .owner =
                     history.add({.queue = history.names.add("train"),
                                  .user = history.names.add("ann"),
                                  .job = history.names.add("job-" + std::to_string(length % 17))}),
                 .share = cost::kWholeGpu / 2,
                 .cpu_milli = 3'000,
                 .energy_millijoules = static_cast<std::uint64_t>(length) * 60,
                 .state = length % 3 == 0 ? cost::State::kIdle : cost::State::kBusy});
            at += length + 1'000;
        }
    }
    return history;
}

cost::Micros sum(const cost::Allocation& all) {
    cost::Micros total = 0;
    for (const cost::Row& row : all.rows) total += row.total();
    return total;
}

cost::Allocation rows_of(Store& store, TimeMs begin, TimeMs end, History& names) {
    auto rows = store.rows(begin, end, names);
    EXPECT_TRUE(rows.ok()) << (rows ? "" : rows.error().message);
    return rows ? *rows : cost::Allocation{};
}

TEST_F(StoreTest, DividedHoursAndFreshOnesAreTheSame) {
    auto store = Store::open(file());
    ASSERT_TRUE(store.ok()) << store.error().message;
    const History history = days_of_work(3);
    ASSERT_TRUE(store->put(history).ok());
    const cost::Micros expected = sum(cost::allocate(history));
    History names;
    EXPECT_EQ(sum(rows_of(*store, kStart, kStart + 4 * kDayMs, names)), expected);
    ASSERT_TRUE(store->roll_up(kStart + kDayMs + kHourMs / 2).ok());
    EXPECT_EQ(sum(rows_of(*store, kStart, kStart + 4 * kDayMs, names)), expected);
    ASSERT_TRUE(store->roll_up(kStart + 4 * kDayMs).ok());
    EXPECT_EQ(sum(rows_of(*store, kStart, kStart + 4 * kDayMs, names)), expected);
    const auto report = cost::report_of(rows_of(*store, kStart, kStart + 4 * kDayMs, names), names,
                                        cost::By::kUser);
    EXPECT_EQ(report.lines.front().key, "ann");
    EXPECT_EQ(report.bill, expected);
}

TEST_F(StoreTest, OfAnHourInPartThatPartIsTold) {
    auto store = Store::open(file());
    ASSERT_TRUE(store.ok());
    const History history = days_of_work(2);
    ASSERT_TRUE(store->put(history).ok());
    ASSERT_TRUE(store->roll_up(kStart + kDayMs).ok());
    const auto between = [&](TimeMs begin, TimeMs end) {
        History names;
        const auto all = store->rows_between(begin, end, names);
        EXPECT_TRUE(all.ok()) << (all ? "" : all.error().message);
        cost::Micros bills = 0;
        for (const cost::Bill& bill : all->bills) bills += bill.amount;
        EXPECT_EQ(sum(*all), bills);
        return sum(*all);
    };
    constexpr TimeMs kMinute = kHourMs / 60;
    const auto cost = [](TimeMs time) {  // of two nodes
        return static_cast<double>(2 * 1'234'567) * static_cast<double>(time) /
               static_cast<double>(kHourMs);
    };
    for (const auto& [begin, end] : std::vector<std::pair<TimeMs, TimeMs>>{
             {0, kHourMs},
             {20 * kMinute, 50 * kMinute},                         // of one hour
             {20 * kMinute, 5 * kHourMs},                          // begins in one
             {2 * kHourMs, 5 * kHourMs + kMinute},                 // ends in one
             {kDayMs - 90 * kMinute, kDayMs + 90 * kMinute},       // divided and not yet
             {kDayMs + 3 * kMinute, kDayMs + 7 * kHourMs + 1}}) {  // not yet
        EXPECT_NEAR(static_cast<double>(between(kStart + begin, kStart + end)), cost(end - begin),
                    4)
            << begin << " to " << end;
    }
    ASSERT_TRUE(store->retain(kStart + kDayMs, {.intervals = kDayMs / 2}).ok());
    EXPECT_EQ(between(kStart + 30 * kMinute, kStart + 90 * kMinute),
              between(kStart, kStart + 2 * kHourMs))
        << "whole hours where their intervals are gone";
}

TEST_F(StoreTest, WhatComesLateIsDividedAgain) {
    auto store = Store::open(file());
    ASSERT_TRUE(store.ok());
    History history = days_of_work(1);
    ASSERT_TRUE(store->put(history).ok());
    ASSERT_TRUE(store->roll_up(kStart + 2 * kDayMs).ok());
    history.intervals.front().share = cost::kWholeGpu;
    ASSERT_TRUE(store->put(history).ok());
    ASSERT_TRUE(store->roll_up(kStart + 2 * kDayMs).ok());
    History names;
    const auto rows = rows_of(*store, kStart, kStart + 2 * kDayMs, names);
    EXPECT_EQ(sum(rows), sum(cost::allocate(history)));
}

TEST_F(StoreTest, DaysStayWhenHoursGo) {
    auto store = Store::open(file());
    ASSERT_TRUE(store.ok());
    const History history = days_of_work(3);
    ASSERT_TRUE(store->put(history).ok());
    const TimeMs now = kStart + 3 * kDayMs;
    ASSERT_TRUE(store->roll_up(now).ok());
    ASSERT_TRUE(store->retain(now, {.intervals = 0, .hours = kDayMs, .days = 99 * kDayMs}).ok());
    History names;
    EXPECT_EQ(sum(rows_of(*store, kStart, now, names)), sum(cost::allocate(history)));
    const cost::PriceFile prices;
    const auto focus = rendered(*store, {.begin = kStart, .end = now}, prices, "focus", now);
    ASSERT_FALSE(focus.ok()) << "days are no hours";
    EXPECT_NE(focus.error().message.find("hours are kept from"), std::string::npos);
    EXPECT_TRUE(rendered(*store, {.begin = now - kDayMs, .end = now}, prices, "focus", now).ok());
    const auto left = store->read(kStart, now);
    ASSERT_TRUE(left.ok());
    EXPECT_LE(left->intervals.size(), 2U);  // those that end after now
}

/// A node of the day, with a pod on one of its two GPUs.
History day_of_pod(unsigned day) {
    History history;
    const std::string name = std::to_string(day);
    const auto node = history.names.add("node-" + name);
    const auto gpu = history.names.add("GPU-" + name);
    const TimeMs begin = kStart + day * kDayMs;
    history.spans.push_back({.begin = begin,
                             .end = begin + kHourMs,
                             .node = node,
                             .model = history.names.add("L4"),
                             .rate = 1'000'000,
                             .devices = {gpu, history.names.add("spare-" + name)}});
    history.intervals.push_back({.begin = begin,
                                 .end = begin + kHourMs,
                                 .node = node,
                                 .device = gpu,
                                 .owner = history.add({.space = history.names.add("team"),
                                                       .pod = history.names.add("pod-" + name)}),
                                 .share = cost::kWholeGpu});
    return history;
}

std::vector<std::string> texts_of(Database& database) {
    std::vector<std::string> texts;
    EXPECT_TRUE(database
                    .select("SELECT text FROM cost_names ORDER BY text", {},
                            [&](const Fields& row) { texts.push_back(row.text(0)); })
                    .ok());
    EXPECT_TRUE(database
                    .select("SELECT COUNT(*) FROM cost_owners", {},
                            [&](const Fields& row) {
                                texts.push_back(std::to_string(row.number(0)) + " owners");
                            })
                    .ok());
    return texts;
}

void expect_names_go(const std::string& where, Database& database) {
    using Texts = std::vector<std::string>;
    auto store = Store::open(where);
    auto other = Store::open(where);
    ASSERT_TRUE(store.ok() && other.ok());
    ASSERT_TRUE(other->put(day_of_pod(0)).ok());  // it knows the numbers of these names
    ASSERT_TRUE(store->put(day_of_pod(20)).ok());
    ASSERT_TRUE(store->put(day_of_pod(40)).ok());
    ASSERT_TRUE(store->put(day_of_pod(42)).ok());  // not divided yet
    const TimeMs now = kStart + 41 * kDayMs;
    ASSERT_TRUE(store->roll_up(now).ok());
    const Retention keep{.intervals = 2 * kDayMs, .hours = 10 * kDayMs, .days = 30 * kDayMs};
    ASSERT_TRUE(store->retain(now, keep).ok());
    EXPECT_EQ(texts_of(database),
              (Texts{"GPU-20", "GPU-40", "GPU-42", "L4", "node-20", "node-40", "node-42", "pod-20",
                     "pod-40", "pod-42", "spare-20", "spare-40", "spare-42", "team", "3 owners"}));
    ASSERT_TRUE(other->put(day_of_pod(0)).ok());
    ASSERT_TRUE(other->put(day_of_pod(60)).ok());
    const auto again = store->read(kStart, kStart + kDayMs);
    ASSERT_TRUE(again.ok());
    ASSERT_EQ(again->intervals.size(), 1U);
    EXPECT_EQ(again->names.text(again->intervals[0].node), "node-0");
    EXPECT_EQ(again->names.text(again->owners[again->intervals[0].owner].pod), "pod-0");
    const TimeMs last = kStart + 100 * kDayMs;
    ASSERT_TRUE(store->roll_up(last).ok());
    ASSERT_TRUE(store->retain(last, keep).ok());
    EXPECT_EQ(texts_of(database).back(), "1 owners");  // the newest
}

TEST_F(StoreTest, NamesGoWithTheLastThatIsAboutThem) {
    ASSERT_TRUE(Store::open(file()).ok());
    const auto database = open_sqlite(file());
    ASSERT_TRUE(database.ok());
    expect_names_go(file(), **database);
}

TEST_F(StoreTest, NamesGoFromPostgresqlToo) {
    const TestServer server;
    if (!server.started()) GTEST_SKIP() << "no PostgreSQL server on this machine";
    ASSERT_TRUE(Store::open(server.address()).ok());
    const auto database = open_postgres(server.address());
    ASSERT_TRUE(database.ok());
    expect_names_go(server.address(), **database);
}

/// Writes an interval that grows, then another; dies at one of its writes.
[[noreturn]] void write_and_die(const std::string& file, int at) {
    int calls = 0;
    auto store = Store::open(file, [&] {
        if (++calls == at) ::kill(::getpid(), SIGKILL);
    });
    History history;
    const auto node = history.names.add("n1");
    const auto gpu = history.names.add("GPU-1");
    history.spans.push_back(
        {.begin = kStart, .end = kStart, .node = node, .rate = 3'600'000, .devices = {gpu}});
    for (int i = 0; i < 10 && store; ++i) {
        history.spans[0].end = kStart + (i + 1) * 600'000;
        history.intervals = {{.begin = kStart + i * 600'000,
                              .end = kStart + (i + 1) * 600'000,
                              .node = node,
                              .device = gpu,
                              .owner = history.add({.job = history.names.add("j")}),
                              .share = cost::kWholeGpu}};
        if (!store->put(history) || !store->roll_up(history.spans[0].end)) break;
    }
    ::_exit(0);
}

TEST_F(StoreTest, KilledAtEachWriteItLosesTheOpenIntervalAlone) {
    int deaths = 0;
    for (int at = 1; at < 100; ++at) {
        fs::remove_all(directory);
        fs::create_directory(directory);
        const pid_t child = ::fork();
        if (child == 0) write_and_die(file(), at);
        int status = 0;
        ASSERT_EQ(::waitpid(child, &status, 0), child);
        auto store = Store::open(file());
        ASSERT_TRUE(store.ok()) << store.error().message;
        const auto history = store->read(kStart, kStart + kDayMs);
        ASSERT_TRUE(history.ok());
        // Opening takes two writes; each of the others is one before and one after its end.
        History names;
        const auto rows = rows_of(*store, kStart, kStart + kDayMs, names);
        TimeMs whole = 0;
        for (const auto& one : history->intervals) whole += one.end - one.begin;
        EXPECT_EQ(sum(rows), whole) << "write " << at;  // one micro a millisecond
        if (history->spans.empty()) {
            EXPECT_LE(at, 3);
        } else {
            EXPECT_EQ(whole, history->spans[0].end - kStart) << "write " << at;
        }
        if (WIFEXITED(status)) break;
        ++deaths;
    }
    EXPECT_GT(deaths, 20);
}

/// All that a store answers, as text: what the two databases are compared by.
std::string answers_of(Store& store) {
    const TimeMs now = kStart + 3 * kDayMs;
    std::string text;
    const auto add_rows = [&] {
        History names;
        const auto all = rows_of(store, kStart, now, names);
        std::vector<std::string> lines;
        for (const auto& row : all.rows) {
            lines.push_back(std::to_string(row.hour) + names.names.text(row.node) +
                            names.names.text(row.device) + names.names.text(row.price) +
                            names.names.text(names.owners[row.owner].job) +
                            std::string(word(row.state)) + " " + std::to_string(row.gpu) + " " +
                            std::to_string(row.cpu) + " " + std::to_string(row.memory) + " " +
                            std::to_string(row.gpu_ms) + " " +
                            std::to_string(row.energy_millijoules));
        }
        std::ranges::sort(lines);
        for (const auto& line : lines) text += line + "\n";
        for (const auto& bill : all.bills) text += std::to_string(bill.amount) + "\n";
    };
    EXPECT_TRUE(store.put(days_of_work(3)).ok());
    add_rows();
    EXPECT_TRUE(store.roll_up(now - kHourMs / 3).ok());
    add_rows();
    const auto jobs = store.jobs(kStart, now, 100);
    EXPECT_TRUE(jobs.ok()) << (jobs ? "" : jobs.error().message);
    for (const auto& job : *jobs) {
        text += job.job + job.user + job.queue + std::to_string(job.total) + " " +
                std::to_string(job.idle) + " " + std::to_string(job.gpu_ms) + "\n";
    }
    EXPECT_TRUE(store.retain(now, {.intervals = kDayMs, .hours = kDayMs, .days = 9 * kDayMs}).ok());
    add_rows();
    return text;
}

TEST_F(StoreTest, PostgresqlAnswersAsSqliteDoes) {
    const TestServer server;
    if (!server.installed()) GTEST_SKIP() << "PostgreSQL is not installed";
    ASSERT_TRUE(server.started()) << server.said();
    auto sqlite = Store::open(file());
    auto postgres = Store::open(server.address());
    ASSERT_TRUE(sqlite.ok());
    ASSERT_TRUE(postgres.ok()) << postgres.error().message;
    const std::string expected = answers_of(*sqlite);
    EXPECT_GT(expected.size(), 1'000U);
    EXPECT_EQ(answers_of(*postgres), expected);
    EXPECT_TRUE(Store::open(server.address()).ok());  // tables that are there
}

TEST_F(StoreTest, APostgresqlThatIsNotThere) {
    const auto store = Store::open("postgresql:///x?host=" + directory.native());
    ASSERT_FALSE(store.ok());
    EXPECT_EQ(store.error().code, ErrorCode::kUnavailable);
    EXPECT_EQ(store.error().message.find('\n'), std::string::npos);
}

}  // namespace
}  // namespace aliquot::cost_store
