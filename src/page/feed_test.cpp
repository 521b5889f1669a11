// SPDX-License-Identifier: Apache-2.0
#include "page/feed.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <random>
#include <thread>

namespace aliquot::page {
namespace {

using Json = nlohmann::json;
using namespace std::chrono_literals;

State state_of(const std::map<std::string, int>& values) {
    Table table{.name = "gpus", .columns = {"gpu", "busy"}, .rows = {}};
    for (const auto& [key, value] : values) {
        table.rows.push_back(RowWriter(key).number(static_cast<std::uint64_t>(value)).done());
    }
    State state{.tables = {table}, .about = R"({"title":"t"})"};
    settle(state);
    return state;
}

void take_cells(std::map<std::string, int>& rows, const Json& cells) {
    for (std::size_t i = 0; i < (cells.empty() ? 0 : cells[0].size()); ++i) {
        rows[cells[0][i]] = cells[1][i];
    }
}

/// As a viewer keeps them.
std::map<std::string, int> rows_of(const Json& snapshot) {
    std::map<std::string, int> rows;
    take_cells(rows, snapshot["tables"]["gpus"]["cells"]);
    return rows;
}

void take_changes(std::map<std::string, int>& rows, const Json& changes) {
    for (const Json& step : changes["steps"]) {
        if (!step["tables"].contains("gpus")) continue;
        take_cells(rows, step["tables"]["gpus"]["set"]);
        for (const Json& key : step["tables"]["gpus"]["gone"]) rows.erase(key);
    }
}

TEST(PageFeed, HasNothingBeforeTheFirstState) {
    const Feed feed("e");
    EXPECT_EQ(feed.snapshot().json, nullptr);
    EXPECT_EQ(feed.changes(0).json, nullptr);
    EXPECT_EQ(feed.wait_newer(0, 1ms), 0U);
}

TEST(PageFeed, TellsWhatIsNewAndWhatIsGone) {
    Feed feed("e");
    feed.publish(state_of({{"a", 1}, {"b", 2}, {"c", 3}}), Moment(5ms));
    EXPECT_EQ(*feed.snapshot().json,
              R"({"epoch":"e","version":1,"at":5,"about":{"title":"t"},"tables":{"gpus":)"
              R"({"columns":["gpu","busy"],"cells":[["a","b","c"],[1,2,3]]}}})");
    feed.publish(state_of({{"a", 1}, {"c", 4}, {"d", 5}}), Moment(6ms));
    EXPECT_EQ(*feed.changes(1).json,
              R"({"version":2,"at":6,"steps":[{"about":{"title":"t"},"tables":)"
              R"({"gpus":{"set":[["c","d"],[4,5]],"gone":["b"]}}}]})");
    EXPECT_EQ(feed.changes(2).version, 2U);
    EXPECT_EQ(Json::parse(*feed.changes(2).json)["steps"].size(), 0U);
    EXPECT_EQ(feed.changes(3).json, nullptr) << "of the future";
}

TEST(PageFeed, AllViewersShareOneText) {
    Feed feed("e");
    feed.publish(state_of({{"a", 1}}), Moment(1ms));
    feed.publish(state_of({{"a", 2}}), Moment(2ms));
    EXPECT_EQ(feed.snapshot().json, feed.snapshot().json);
    EXPECT_EQ(feed.changes(1).json, feed.changes(1).json);
}

TEST(PageFeed, ForgetsOldStepsAndSaysSo) {
    Feed feed("e");
    for (int i = 0; i < static_cast<int>(Feed::kMostSteps) + 10; ++i) {
        feed.publish(state_of({{"a", i}}), Moment(1ms));
    }
    EXPECT_EQ(feed.changes(1).json, nullptr);
    EXPECT_NE(feed.changes(20).json, nullptr);
}

TEST(PageFeed, ForgetsStepsThatTakeTooMuchRoom) {
    Feed feed("e");
    std::map<std::string, int> many;
    for (int i = 0; i < 100'000; ++i) many["a-row-with-a-name-" + std::to_string(i)] = i;
    feed.publish(state_of({}), Moment(1ms));
    feed.publish(state_of(many), Moment(1ms));  // 2 MiB or more
    EXPECT_EQ(feed.changes(1).json, nullptr);
    EXPECT_NE(feed.changes(2).json, nullptr);
}

TEST(PageFeed, OtherTablesAskForTheSnapshot) {
    Feed feed("e");
    feed.publish(state_of({{"a", 1}}), Moment(1ms));
    State other = state_of({{"a", 1}});
    other.tables.push_back({.name = "jobs", .columns = {"job"}, .rows = {}});
    feed.publish(std::move(other), Moment(2ms));
    EXPECT_EQ(feed.changes(1).json, nullptr);
}

TEST(PageFeed, ChangesLeadToTheSnapshotWhateverHappened) {
    std::mt19937 random(7);
    Feed feed("e");
    std::map<std::string, int> truth{{"k0", 0}};
    feed.publish(state_of(truth), Moment(1ms));
    std::map<std::string, int> seen = rows_of(Json::parse(*feed.snapshot().json));
    std::uint64_t version = 1;
    for (int round = 0; round < 300; ++round) {
        for (unsigned i = random() % 4; i > 0; --i) {
            const std::string key = "k" + std::to_string(random() % 12);
            if (random() % 3 == 0) {
                truth.erase(key);
            } else {
                truth[key] = static_cast<int>(random() % 100);
            }
        }
        feed.publish(state_of(truth), Moment(1ms));
        if (random() % 3 != 0) continue;  // a viewer that is a few versions behind
        const Feed::Text text = feed.changes(version);
        ASSERT_NE(text.json, nullptr);
        take_changes(seen, Json::parse(*text.json));
        version = text.version;
        ASSERT_EQ(seen, truth) << "round " << round;
    }
}

TEST(PageFeed, WakesWhoWaits) {
    Feed feed("e");
    std::jthread writer([&] {
        std::this_thread::sleep_for(20ms);
        feed.publish(state_of({}), Moment(1ms));
    });
    EXPECT_EQ(feed.wait_newer(0, 10s), 1U);
}

TEST(PageTable, CutsTextsAndKeepsControlCharactersOut) {
    const Row row = RowWriter("k").text("a\x1b[31m\n\"b\"").text(std::string(2'000, 'x')).done();
    const Row* const one[] = {&row};
    const Json cells = Json::parse(columns_json(3, one));
    EXPECT_EQ(cells[1][0], "a [31m \"b\"");
    EXPECT_LE(cells[2][0].get<std::string>().size(), RowWriter::kMostText);
}

TEST(PageTable, KeepsOneRowOfAName) {
    State state{.tables = {{.name = "t", .columns = {"a"}, .rows = {}}}};
    for (const int value : {2, 1}) {
        state.tables[0].rows.push_back(
            RowWriter("same").number(static_cast<std::uint64_t>(value)).done());
    }
    settle(state);
    ASSERT_EQ(state.tables[0].rows.size(), 1U);
    EXPECT_EQ(state.tables[0].rows[0].cells, "\"same\"\n2");
}

TEST(PageTable, WritesCellsByColumn) {
    const Row a = RowWriter("a\nb").number(std::nullopt).text("").done();
    const Row b = RowWriter("").flag(true).raw("[1,2]").done();
    const Row* const both[] = {&a, &b};
    EXPECT_EQ(columns_json(3, both), R"([["a\nb",""],[null,true],["",[1,2]]])");
    EXPECT_EQ(columns_json(2, {}), "[[],[]]");
}

}  // namespace
}  // namespace aliquot::page
