// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <gtest/gtest.h>

#include <latch>
#include <string>
#include <thread>
#include <vector>

namespace aliquot::log {
namespace {

std::vector<std::string> lines_of(Level level, Format format, void (*act)()) {
    std::vector<std::string> lines;
    configure(level, format);
    set_sink([&](std::string_view line) { lines.emplace_back(line); });
    act();
    set_sink({});
    configure(Level::kInfo, Format::kText);
    return lines;
}

TEST(Log, TextQuotesOnlyWhatNeedsIt) {
    const auto lines = lines_of(Level::kInfo, Format::kText, [] {
        info("gpu.lost", {{"gpu", "GPU-1"}, {"why", "fell off \"bus\""}, {"xid", 79}});
    });
    ASSERT_EQ(lines.size(), 1U);
    EXPECT_EQ(lines[0], "gpu.lost gpu=GPU-1 why=\"fell off \\\"bus\\\"\" xid=79");
}

TEST(Log, JsonKeepsNumbersAndEscapes) {
    const auto lines = lines_of(Level::kDebug, Format::kJson, [] {
        debug("a.b", {{"n", 3}, {"on", true}, {"s", "x\ny"}});
    });
    ASSERT_EQ(lines.size(), 1U);
    EXPECT_NE(lines[0].find("\"event\":\"a.b\",\"n\":3,\"on\":true,\"s\":\"x\\ny\"}"),
              std::string::npos)
        << lines[0];
}

TEST(Log, DropsWhatIsBelowTheLevel) {
    EXPECT_TRUE(lines_of(Level::kError, Format::kText, [] { warning("w"); }).empty());
}

TEST(Log, MayBeFirstUsedBySeveralThreadsAtOnce) {
    constexpr int kThreads = 8;
    std::latch together(kThreads);
    std::vector<std::jthread> threads;
    for (int i = 0; i < kThreads; ++i) {
        threads.emplace_back([&together] {
            together.arrive_and_wait();
            info("first", {});
        });
    }
}

}  // namespace
}  // namespace aliquot::log
