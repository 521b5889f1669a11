// SPDX-License-Identifier: Apache-2.0
#include "top/text.h"

#include <gtest/gtest.h>

#include <vector>

namespace aliquot::top {
namespace {

TEST(TopText, KeepsForeignNamesFromMovingTheCursor) {
    EXPECT_EQ(shown("a\x1b[2Jb\r\n"), "a?[2Jb??");
    EXPECT_EQ(shown("na\xc3\xafve\x7f"), "na??ve?");
}

TEST(TopText, TellsNothingFromLittle) {
    EXPECT_EQ(percent_text(std::nullopt), "-");
    EXPECT_EQ(percent_text(0), "0");
    EXPECT_EQ(percent_text(1), "<1");
    EXPECT_EQ(percent_text(5'000), "0");
    EXPECT_EQ(percent_text(995'000), "100");
    EXPECT_EQ(percent_text(3'400'000), "340");
}

TEST(TopText, PutsAmountsIntoUnits) {
    EXPECT_EQ(memory_text(512ULL << 20U), "512Mi");
    EXPECT_EQ(memory_text(10ULL << 30U), "10.0Gi");
    EXPECT_EQ(memory_text(141ULL << 30U), "141Gi");
    EXPECT_EQ(memory_of_text(512ULL << 20U, 4ULL << 30U), "0.5/4.0Gi");
    EXPECT_EQ(memory_of_text(std::nullopt, 4ULL << 30U), "-/4.0Gi");
    EXPECT_EQ(memory_of_text(512ULL << 20U, std::nullopt), "512Mi");
    EXPECT_EQ(watts_text(48'600), "49");
    EXPECT_EQ(number_text(0.001), "<0.01");
    EXPECT_EQ(number_text(4.956), "4.96");
    EXPECT_EQ(number_text(12.44), "12.4");
    EXPECT_EQ(number_text(310.4), "310");
}

TEST(TopText, SaysDurationsInTwoUnitsAtMost) {
    constexpr std::uint64_t kSecond = 1'000'000'000;
    EXPECT_EQ(duration_text(std::nullopt), "-");
    EXPECT_EQ(duration_text(59 * kSecond), "59s");
    EXPECT_EQ(duration_text(3599 * kSecond), "59m");
    EXPECT_EQ(duration_text(7500 * kSecond), "2h5m");
    EXPECT_EQ(duration_text(50 * 3600 * kSecond), "2d2h");
    EXPECT_EQ(clock_text(1'763'733'785), "14:03:05");
}

TEST(TopText, CutsNamesWhereTheyDifferLeast) {
    EXPECT_EQ(cut_middle("cat-watcher-7d9c5b6f4-x2x9q", 16, Charset::kAscii), "cat-watc~4-x2x9q");
    EXPECT_EQ(cut_middle("short", 16, Charset::kAscii), "short");
    EXPECT_EQ(cut_end("abcdef", 4, Charset::kUtf8), "abc…");
    EXPECT_EQ(cut_end("abcdef", 0, Charset::kUtf8), "");
}

TEST(TopText, DrawsBarsOfTheirWidth) {
    for (const auto charset : {Charset::kAscii, Charset::kUtf8}) {
        for (std::uint64_t ppm = 0; ppm <= 2'000'000; ppm += 12'345)
            EXPECT_EQ(width_of(bar(ppm, 10, charset)), 10U) << ppm;
    }
    EXPECT_EQ(bar(500'000, 4, Charset::kAscii), "##--");
    EXPECT_EQ(bar(std::nullopt, 4, Charset::kAscii), "....");
    EXPECT_EQ(bar(1'000'000, 2, Charset::kUtf8), "██");
}

TEST(TopText, LeavesHolesInASparklineWhereNothingIsKnown) {
    const std::vector<std::optional<std::uint64_t>> values{0, std::nullopt, 1'000'000};
    EXPECT_EQ(sparkline(values, 5, Charset::kAscii), "  _ #");
    EXPECT_EQ(sparkline(values, 2, Charset::kUtf8), " █");
    EXPECT_EQ(sparkline({}, 3, Charset::kUtf8), "   ");
}

}  // namespace
}  // namespace aliquot::top
