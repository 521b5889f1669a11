// SPDX-License-Identifier: Apache-2.0
#include "top/control.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "top/test_world.h"

namespace aliquot::top {
namespace {

/// The state with its screen, as the live view keeps them.
class Session {
public:
    explicit Session(ClusterSnapshot cluster) : world_(std::move(cluster)) { look(); }

    void press_all(std::string_view letters) {
        for (const char c : letters) press_one({Named::kCharacter, c});
    }
    void press_one(Key key) {
        press(ui, key, table, world_, screen);
        look();
    }
    void become(ClusterSnapshot cluster) {
        world_ = std::move(cluster);
        look();
    }
    [[nodiscard]] const Row& row() const { return table.rows[cursor_of(table, ui)]; }

    UiState ui;
    Table table;
    Screen screen;

private:
    void look() {
        table = table_of(world_, history_, ui.view);
        screen = draw(world_, history_, table, ui, Size{}, Style{});
    }
    ClusterSnapshot world_;
    History history_;
};

TEST(TopControl, GoesDownToAProcessAndBackUp) {
    Session session(three_nodes());
    session.press_all("n");
    EXPECT_EQ(session.ui.view.kind, Kind::kNodes);
    session.press_one({Named::kEnter});
    EXPECT_EQ(session.ui.view.kind, Kind::kGpus);
    EXPECT_EQ(session.table.rows.size(), 2U);
    session.press_one({Named::kEnter});
    EXPECT_EQ(session.ui.view.kind, Kind::kPods);
    EXPECT_EQ(session.table.rows.size(), 3U);
    session.press_one({Named::kEnter});
    EXPECT_EQ(session.ui.view.kind, Kind::kProcesses);
    ASSERT_EQ(session.table.rows.size(), 1U);
    EXPECT_EQ(session.row().cells[0].text, "4711");
    const std::string tenant = session.ui.view.scope.tenant;
    session.press_one({Named::kEnter});  // nothing is below a process
    EXPECT_EQ(session.ui.view.kind, Kind::kProcesses);
    session.press_one({Named::kEscape});
    EXPECT_EQ(session.ui.view.kind, Kind::kPods);
    EXPECT_EQ(session.ui.cursor, tenant);
    for (int i = 0; i < 10; ++i) session.press_one({Named::kEscape});
    EXPECT_EQ(session.ui.view.kind, Kind::kNodes);
}

TEST(TopControl, TheCursorStaysOnItsRowWhenTheOrderChanges) {
    Session session(one_node());
    session.press_one({Named::kDown});
    const std::string key = session.ui.cursor;
    session.press_all("r");
    EXPECT_EQ(session.row().key, key);
    session.press_one({Named::kEnd});
    session.press_one({Named::kDown});
    EXPECT_EQ(session.row().key, session.table.rows.back().key);
    session.press_one({Named::kHome});
    session.press_one({Named::kPageUp});
    EXPECT_EQ(session.row().key, session.table.rows.front().key);
}

TEST(TopControl, ARowThatVanishesLeavesTheCursorOnTheScreen) {
    Session session(one_node());
    session.press_one({Named::kEnd});
    telemetry::Snapshot empty = shared_node();
    empty.devices.clear();
    ClusterSnapshot cluster = one_node();
    cluster.agents[0].snapshot = std::make_shared<const telemetry::Snapshot>(empty);
    session.become(cluster);
    EXPECT_TRUE(session.table.rows.empty());
    session.press_one({Named::kEnter});
    session.press_one({Named::kDown});
    session.become(one_node());
    EXPECT_FALSE(session.table.rows.empty());
}

TEST(TopControl, FiltersWhileOneTypes) {
    Session session(one_node());
    session.press_all("/cat");
    EXPECT_TRUE(session.ui.typing);
    EXPECT_EQ(session.table.rows.size(), 1U);
    session.press_one({Named::kBackspace});
    session.press_one({Named::kEnter});
    EXPECT_FALSE(session.ui.typing);
    EXPECT_EQ(session.ui.filter_text, "ca");
    session.press_all("/q");  // a letter of the filter, not the key
    EXPECT_FALSE(session.ui.quit);
    session.press_one({Named::kEscape});
    EXPECT_EQ(session.table.rows.size(), 5U);
}

TEST(TopControl, AViewKeyPressedAgainLeadsBack) {
    Session session(three_nodes());
    for (const char key : {'w', 'x', 't', 'n', 'g', 'P'}) {
        session.press_one({Named::kCharacter, key});
        EXPECT_NE(session.ui.view.kind, Kind::kPods) << key;
        session.press_one({Named::kCharacter, key});
        EXPECT_EQ(session.ui.view.kind, Kind::kPods) << key;
    }
    for (int i = 0; i < 100; ++i) session.press_all("wx");
    EXPECT_LE(session.ui.back.size(), UiState::kMostBack);
}

TEST(TopControl, EverySortOfEveryViewWorks) {
    Session session(three_nodes());
    for (const char key : {'p', 'n', 'g', 'P', 't', 'w', 'x'}) {
        session.press_one({Named::kCharacter, key});
        for (int i = 0; i < 20; ++i) session.press_all("s");
        for (int i = 0; i < 20; ++i) session.press_all("Sr");
    }
}

TEST(TopControl, NothingThatAnAgentSaysBreaksAView) {
    constexpr auto kMost = std::numeric_limits<std::uint64_t>::max();
    telemetry::Snapshot wild = shared_node();
    wild.at = telemetry::Moment::max();
    wild.price_per_gpu_hour = 1e300;
    for (telemetry::Device& device : wild.devices) {
        for (std::size_t i = 0; i < gpu::kMetricCount; ++i)
            device.metrics.set(static_cast<gpu::Metric>(i), i % 3 == 0   ? -1e300
                                                            : i % 3 == 1 ? 1e300
                                                                         : std::nan(""));
        device.total = {kMost, kMost, kMost, kMost, kMost};
        device.xids = {{.xid = kMost, .count = kMost, .last = telemetry::Moment::min()}};
        device.throttled_ns = {{"sw_power", kMost}};
        device.layout.slots = {{"", 0}};
        for (telemetry::Part& part : device.parts) {
            part.metrics = device.metrics;
            part.total = part.remainder = device.total;
            for (telemetry::Tenant& tenant : part.tenants) {
                tenant.amounts = device.total;
                tenant.entitlement_ppm = tenant.held_ns = kMost;
                tenant.idle_held_ns = tenant.idle_ns = tenant.throttled_ns = kMost;
                tenant.share_utilization_ppm = tenant.memory_limit_bytes = kMost;
                tenant.owner = {};
            }
        }
    }
    ClusterSnapshot cluster = one_node();
    cluster.agents[0].snapshot = std::make_shared<const telemetry::Snapshot>(wild);
    Session session(cluster);
    session.press_all("ngpPtwxais");
    session.become(one_node());
    session.become(cluster);
    session.press_all("pwx");
}

TEST(TopControl, AnyKeyBringsOneBackFromHelpAndOnlyThere) {
    Session session(one_node());
    session.press_all("?");
    EXPECT_TRUE(session.ui.help);
    session.press_all("q");
    EXPECT_FALSE(session.ui.help);
    EXPECT_FALSE(session.ui.quit);
    session.press_one({Named::kInterrupt});
    EXPECT_TRUE(session.ui.quit);
}

TEST(TopControl, SortsByALetterAndAgainTheOtherWayRound) {
    Session session(three_nodes());
    session.press_all("M");
    EXPECT_EQ(session.ui.view.sort, Sort::kMemory);
    EXPECT_FALSE(session.ui.view.reverse);
    session.press_all("M");
    EXPECT_TRUE(session.ui.view.reverse);
    session.press_all("T");  // pods have no temperature
    EXPECT_EQ(session.ui.view.sort, Sort::kMemory);
    session.press_all("gT");
    EXPECT_EQ(session.ui.view.sort, Sort::kTemperature);
}

TEST(TopControl, FollowsTheMouse) {
    Session session(three_nodes());
    const std::size_t second = session.screen.first.value() + 1;
    const std::string key = session.table.rows[1].key;
    session.press_one({.name = Named::kClick, .column = 5, .line = second});
    EXPECT_EQ(session.ui.cursor, key);
    session.press_one({.name = Named::kScrollUp});
    EXPECT_EQ(session.ui.cursor, session.table.rows[0].key);
    const auto& titles = session.screen.titles;
    const auto memory = std::ranges::find(titles, Sort::kMemory, &Screen::Title::sort);
    ASSERT_NE(memory, titles.end());
    session.press_one(
        {.name = Named::kClick, .column = memory->begin, .line = session.screen.heading.value()});
    EXPECT_EQ(session.ui.view.sort, Sort::kMemory);
    session.press_one({.name = Named::kClick, .column = 0, .line = 23});  // nothing is there
    session.press_one({.name = Named::kClick, .column = 5, .line = *session.screen.first});
    session.press_one({.name = Named::kClick, .column = 5, .line = *session.screen.first});
    EXPECT_EQ(session.ui.view.kind, Kind::kProcesses);
}

TEST(TopControl, EndsAProcessOfThisMachineOnlyAndAsksFirst) {
    ClusterSnapshot world = three_nodes();
    Session elsewhere(world);
    elsewhere.press_all("PK");
    EXPECT_FALSE(elsewhere.ui.asked);
    EXPECT_NE(elsewhere.ui.message, "");

    world.agents[0].processes[4711] = {.user = "anna", .command_line = "python3 train.py"};
    Session session(world);
    session.press_all("P");
    for (const Row& row : session.table.rows) {
        if (row.key.ends_with("/pid 4711")) session.ui.cursor = row.key;
    }
    session.press_all("K");
    ASSERT_TRUE(session.ui.asked);
    EXPECT_EQ(to_text(*session.ui.asked), "end process 4711 (python3) with SIGTERM");
    session.press_all("n");
    EXPECT_FALSE(session.ui.asked);
    EXPECT_FALSE(session.ui.request);
    EXPECT_EQ(session.ui.view.kind, Kind::kProcesses);  // n was the answer, not a view
    session.press_all("Ky");
    ASSERT_TRUE(session.ui.request);
    EXPECT_EQ(session.ui.request->pid, 4711U);
}

TEST(TopControl, ReadsTheLogOfAPod) {
    Session session(three_nodes());
    session.press_all("L");
    ASSERT_TRUE(session.ui.request);
    EXPECT_EQ(session.ui.request->kind, Request::Kind::kReadLog);
    Reading log{.title = "log"};
    for (int i = 0; i < 100; ++i) log.lines.push_back("line " + std::to_string(i));
    session.ui.reading = log;
    session.press_one({Named::kEnd});
    EXPECT_EQ(session.ui.reading->top, 100 - session.screen.rows);
    session.press_one({Named::kPageDown});
    EXPECT_EQ(session.ui.reading->top, 100 - session.screen.rows);
    session.press_all("gj");
    EXPECT_EQ(session.ui.reading->top, 1U);
    session.press_one({Named::kEscape});
    EXPECT_FALSE(session.ui.reading);
}

TEST(TopControl, ChangesHowOftenItLooks) {
    Session session(three_nodes());
    session.press_all("--");
    EXPECT_EQ(session.ui.interval.count(), 10'000);
    for (int i = 0; i < 20; ++i) session.press_all("-");
    EXPECT_EQ(session.ui.interval.count(), 60'000);
    for (int i = 0; i < 20; ++i) session.press_all("+");
    EXPECT_EQ(session.ui.interval.count(), 500);
}

}  // namespace
}  // namespace aliquot::top
