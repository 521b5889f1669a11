// SPDX-License-Identifier: Apache-2.0
// Draws what each src/top/cases/*.screen says in its first line and compares with the rest of the
// file: "live WORLD WIDTHxHEIGHT CHARSET [KEYS]" or "once WORLD WIDTH KIND [wide] [FILTER]" or
// "csv WORLD KIND". UPDATE_CASES=1 rewrites the rest; look at the difference.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "top/control.h"
#include "top/print.h"
#include "top/test_world.h"

namespace aliquot::top {
namespace {

namespace fs = std::filesystem;

ClusterSnapshot world_of(const std::string& name) {
    return name == "one" ? one_node() : three_nodes();
}

/// "down", "enter", "esc", or letters.
std::vector<Key> keys_of(const std::string& word) {
    if (word == "down") return {{Named::kDown}};
    if (word == "end") return {{Named::kEnd}};
    if (word == "enter") return {{Named::kEnter}};
    if (word == "esc") return {{Named::kEscape}};
    if (word == "space") return {{Named::kCharacter, ' '}};
    std::vector<Key> keys;
    for (const char c : word) keys.push_back({Named::kCharacter, c});
    return keys;
}

std::string live(std::istringstream& words) {
    std::string name;
    std::string charset;
    Size size;
    char by = 0;
    words >> name >> size.width >> by >> size.height >> charset;
    ClusterSnapshot cluster = world_of(name);
    const Style style{.charset = charset == "utf8" ? Charset::kUtf8 : Charset::kAscii};
    History history;
    for (std::uint64_t i = 0; i < 12; ++i) {  // a history that goes up and down
        for (Agent& agent : cluster.agents) {
            if (!agent.snapshot) continue;
            telemetry::Snapshot next = *agent.snapshot;
            next.sequence += 1;
            next.at += std::chrono::seconds{2};
            for (telemetry::Device& device : next.devices) {
                if (device.total.utilization_ppm && i < 11)
                    device.total.utilization_ppm = i % 6 * 200'000;
            }
            if (i == 11) next.devices = agent.snapshot->devices;
            agent.snapshot = std::make_shared<const telemetry::Snapshot>(std::move(next));
        }
        history.add(cluster);
    }
    cluster = world_of(name);
    UiState ui;
    Table table = table_of(cluster, history, ui.view);
    Screen screen = draw(cluster, history, table, ui, size, style);
    for (std::string word; words >> word;) {
        for (const Key& key : keys_of(word)) {
            press(ui, key, table, cluster, screen);
            table = table_of(cluster, history, ui.view);
            screen = draw(cluster, history, table, ui, size, style);
        }
    }
    EXPECT_EQ(screen.lines.size(), size.height);
    std::string text;
    for (const Line& line : screen.lines) {
        EXPECT_LE(width_of(line), size.width) << to_text(line, Colour::kNever);
        text += to_text(line, Colour::kNever) + "\n";
    }
    return text;
}

std::string once(std::istringstream& words, bool csv) {
    std::string name;
    std::size_t width = 0;
    std::string kind;
    words >> name;
    if (!csv) words >> width;
    words >> kind;
    View view{.kind = parse_kind(kind).value_or(Kind::kPods)};
    bool wide = false;
    for (std::string word; words >> word;) {
        if (word == "wide") {
            wide = true;
        } else if (word == "rests") {
            view.remainders = Remainders::kShown;
        } else {
            auto filter = Filter::parse(word);
            EXPECT_TRUE(filter) << word;
            if (filter) view.filter = *filter;
        }
    }
    const ClusterSnapshot cluster = world_of(name);
    return csv ? print_csv(cluster, view) : print_once(cluster, view, wide, width, Style{});
}

std::string drawn(const std::string& line) {
    std::istringstream words(line);
    std::string what;
    words >> what;
    return what == "live" ? live(words) : once(words, what == "csv");
}

std::vector<fs::path> case_files() {
    std::vector<fs::path> files;
    for (const auto& entry :
         fs::directory_iterator(std::string(ALIQUOT_SOURCE_DIR) + "/src/top/cases"))
        files.push_back(entry.path());
    std::ranges::sort(files);
    return files;
}

class ScreenCase : public testing::TestWithParam<fs::path> {};

TEST_P(ScreenCase, LooksAsExpected) {
    std::ifstream file(GetParam(), std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const std::string line = text.substr(0, text.find('\n'));
    const std::string now = drawn(line);
    if (std::getenv("UPDATE_CASES") != nullptr) {  // NOLINT(concurrency-mt-unsafe): one thread
        std::ofstream(GetParam(), std::ios::binary) << line << '\n' << now;
        return;
    }
    EXPECT_EQ(now, text.substr(std::min(text.size(), line.size() + 1)))
        << "run with UPDATE_CASES=1 if the new look is right";
}

INSTANTIATE_TEST_SUITE_P(Cases, ScreenCase, testing::ValuesIn(case_files()), [](const auto& one) {
    std::string name = one.param.stem().string();
    std::ranges::replace(name, '-', '_');
    return name;
});

}  // namespace
}  // namespace aliquot::top
