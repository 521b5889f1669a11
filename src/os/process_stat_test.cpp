// SPDX-License-Identifier: Apache-2.0
#include "os/process_stat.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <iterator>

namespace aliquot::os {
namespace {

constexpr std::string_view kBehind =
    " S 700 812 812 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 9 0 123456789012 11 12 13";

TEST(ParseStat, ReadsALine) {
    const auto stat = parse_stat("812 (python3)" + std::string(kBehind) + "\n");
    ASSERT_TRUE(stat);
    EXPECT_EQ(*stat, (ProcessStat{.pid = 812,
                                  .command = "python3",
                                  .state = 'S',
                                  .parent = 700,
                                  .group = 812,
                                  .session = 812,
                                  .cpu_ticks = 11,
                                  .threads = 9,
                                  .start_ticks = 123456789012}));
    EXPECT_FALSE(stat->has_ended());
}

TEST(ParseStat, ReadsANameThatHoldsParenthesesAndBlanks) {
    const auto stat = parse_stat("812 (a) R 1 (b\n)" + std::string(kBehind));
    ASSERT_TRUE(stat);
    EXPECT_EQ(stat->command, "a) R 1 (b\n");
    EXPECT_EQ(stat->parent, 700U);
}

TEST(ParseStat, TellsAZombieFromAProcessWhoseFirstThreadEnded) {
    const auto line = [](int threads) {
        return "5 (x) Z 1 5 5 0 -1 0 0 0 0 0 0 0 0 0 20 0 " + std::to_string(threads) + " 0 77";
    };
    EXPECT_TRUE(parse_stat(line(1))->has_ended());
    EXPECT_FALSE(parse_stat(line(3))->has_ended());
}

TEST(ParseStat, ReadsThatOfThisProcess) {
    std::ifstream file("/proc/self/stat");
    const auto stat = parse_stat(std::string(std::istreambuf_iterator<char>(file), {}));
    ASSERT_TRUE(stat);
    EXPECT_EQ(stat->pid, static_cast<std::uint32_t>(::getpid()));
    EXPECT_EQ(stat->parent, static_cast<std::uint32_t>(::getppid()));
    EXPECT_GT(stat->start_ticks, 0U);
}

TEST(ParseStat, RefusesWhatIsNoSuchLine) {
    for (const char* line :
         {"", "812", "812 (x", "812 x)", "(x) S 1 2 3", "812 )x( S 1 2 3", "812 (x) SS 1 2 3",
          "812 (x) S 1 2", "a (x) S 1 2 3", "812 (x) S 1 2 3 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 -4",
          "812 (x) S 99999999999 2 3 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 4"}) {
        EXPECT_FALSE(parse_stat(line)) << line;
    }
}

}  // namespace
}  // namespace aliquot::os
