// SPDX-License-Identifier: Apache-2.0
// Tables of an older version, of a newer one, and a program that is killed while it brings them to its own.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "base/text.h"
#include "cost_store/schema.h"
#include "cost_store/store.h"
#include "cost_store/test_server.h"
#include "os/temporary_directory.h"

namespace aliquot::cost_store {
namespace {

using cost::kDayMs;
using cost::kHourMs;
using cost::TimeMs;

constexpr TimeMs kStart = 1'790'000'000'000 / kDayMs * kDayMs;
constexpr std::int64_t kNewest = 2;

std::unique_ptr<Database> database_at(const std::string& where) {
    auto opened = where.starts_with("postgresql:") ? open_postgres(where) : open_sqlite(where);
    EXPECT_TRUE(opened.ok()) << (opened ? "" : opened.error().message);
    return *std::move(opened);
}

/// As the program of version 1 has left them: ann had GPU-1 of n1 for an hour, which was divided.
void write_version_1(Database& database) {
    const std::string hour = std::to_string(kStart);
    const std::string end = std::to_string(kStart + kHourMs);
    const std::string row = "(" + hour + ", 1, 2, 0, 0, 0, 1, 0, 700, 200, 100, 3600000, 5);";
    const auto done = database.script(concat(
        {migrations(database.dialect()).front(),
         "CREATE TABLE cost_version(one INTEGER PRIMARY KEY, value INTEGER);"
         "INSERT INTO cost_version VALUES(1, 1);"
         "INSERT INTO cost_names(text) VALUES('n1'), ('GPU-1'), ('ann');"
         "INSERT INTO cost_owners(space, queue, account, job, pod, container, workflow, attempt) "
         "VALUES(0, 0, 3, 0, 0, 0, 0, 0);"
         "INSERT INTO cost_hours VALUES",
         row, "INSERT INTO cost_days VALUES", row, "INSERT INTO cost_bills VALUES(", hour,
         ", 1, 0, 3600000, 1000); INSERT INTO cost_state VALUES('rolled', ", end, ")"}));
    ASSERT_TRUE(done.ok()) << done.error().message;
}

std::int64_t version_at(const std::string& where) {
    std::int64_t version = 0;
    EXPECT_TRUE(database_at(where)
                    ->select("SELECT value FROM cost_version", {},
                             [&](const Fields& row) { version = row.number(0); })
                    .ok());
    return version;
}

struct Sum {
    cost::Micros total = 0;
    std::int64_t core_ms = 0;
    std::int64_t mib_s = 0;
    friend bool operator==(const Sum&, const Sum&) = default;
};
Sum sum_of(Store& store, Store::Grain grain = Store::Grain::kHours) {
    cost::History names;
    const auto all = store.rows(kStart, kStart + 2 * kDayMs, names, grain);
    EXPECT_TRUE(all.ok()) << (all ? "" : all.error().message);
    Sum sum;
    if (!all) return sum;
    for (const cost::Row& row : all->rows) {
        sum.total += row.total();
        sum.core_ms += row.core_ms;
        sum.mib_s += row.mib_s;
    }
    return sum;
}

/// The next hour, for which ann has the GPU with 2 of 4 cores and 1 of 8 GiB; an hour of the node costs 1000 micros.
cost::History next_hour() {
    cost::History history;
    const auto node = history.names.add("n1");
    const auto gpu = history.names.add("GPU-1");
    history.spans.push_back({.begin = kStart + kHourMs,
                             .end = kStart + 2 * kHourMs,
                             .node = node,
                             .rate = 1'000,
                             .cpu_milli = 4'000,
                             .memory_mib = 8'192,
                             .devices = {gpu}});
    history.intervals.push_back({.begin = kStart + kHourMs,
                                 .end = kStart + 2 * kHourMs,
                                 .node = node,
                                 .device = gpu,
                                 .owner = history.add({.user = history.names.add("ann")}),
                                 .share = cost::kWholeGpu,
                                 .cpu_milli = 2'000,
                                 .memory_mib = 1'024});
    return history;
}

/// A program that is killed before (1) or after (2) what it has changed is durable.
void be_killed_while_opening(const std::string& where, int at) {
    const pid_t child = ::fork();
    if (child == 0) {
        int calls = 0;
        (void)Store::open(where, [&] {
            if (++calls == at) ::kill(::getpid(), SIGKILL);
        });
        ::_exit(0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));
}

void expect_migrates(const std::string& where) {
    write_version_1(*database_at(where));
    const Sum old{.total = 1'000};
    {
        auto reader = Store::open_to_read(where);
        ASSERT_TRUE(reader.ok()) << reader.error().message;
        EXPECT_EQ(sum_of(*reader), old);
        EXPECT_EQ(version_at(where), 1) << "who only reads changes no table";
    }
    be_killed_while_opening(where, 1);
    EXPECT_EQ(version_at(where), 1);
    be_killed_while_opening(where, 2);
    EXPECT_EQ(version_at(where), kNewest);
    auto store = Store::open(where);
    ASSERT_TRUE(store.ok()) << store.error().message;
    EXPECT_EQ(sum_of(*store), old);
    ASSERT_TRUE(store->put(next_hour()).ok());
    // All of the node: what ann has and what nobody has.
    const Sum both{.total = 2'000, .core_ms = 4 * kHourMs, .mib_s = 8'192 * 3'600};
    EXPECT_EQ(sum_of(*store), both) << "from the interval";
    ASSERT_TRUE(store->roll_up(kStart + kDayMs).ok());
    EXPECT_EQ(sum_of(*store), both) << "from hours";
    EXPECT_EQ(sum_of(*store, Store::Grain::kDays), both) << "from days";
}

void expect_refuses_newer(const std::string& where) {
    ASSERT_TRUE(Store::open(where).ok());
    ASSERT_TRUE(database_at(where)->script("UPDATE cost_version SET value = 99").ok());
    for (const auto& store : {Store::open(where), Store::open_to_read(where)}) {
        ASSERT_FALSE(store.ok());
        EXPECT_EQ(store.error().code, ErrorCode::kInvalidInput);
        EXPECT_NE(store.error().message.find(
                      "its tables are of version 99, made by a newer program; this one knows 2"),
                  std::string::npos)
            << store.error().message;
        EXPECT_EQ(store.error().message.find('\n'), std::string::npos);
    }
    EXPECT_EQ(version_at(where), 99);
}

class Migration : public testing::Test {
protected:
    [[nodiscard]] std::string file() const { return (directory_.path() / "cost.db").native(); }
    os::TemporaryDirectory directory_;
};

TEST_F(Migration, KeepsWhatAnOlderProgramHasWritten) { expect_migrates(file()); }

TEST_F(Migration, KeepsWhatAnOlderProgramHasWrittenToPostgresql) {
    const TestServer server;
    if (!server.installed()) GTEST_SKIP() << "PostgreSQL is not installed";
    ASSERT_TRUE(server.started()) << server.said();
    expect_migrates(server.address());
}

TEST_F(Migration, RefusesTablesOfANewerProgram) { expect_refuses_newer(file()); }

TEST_F(Migration, RefusesTablesOfANewerProgramInPostgresql) {
    const TestServer server;
    if (!server.installed()) GTEST_SKIP() << "PostgreSQL is not installed";
    ASSERT_TRUE(server.started()) << server.said();
    const auto none = Store::open_to_read(server.address());
    ASSERT_FALSE(none.ok());
    EXPECT_EQ(none.error().code, ErrorCode::kNotFound) << none.error().message;
    expect_refuses_newer(server.address());
}

}  // namespace
}  // namespace aliquot::cost_store
