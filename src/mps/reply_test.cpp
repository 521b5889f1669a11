// SPDX-License-Identifier: Apache-2.0
#include "mps/reply.h"

#include <gtest/gtest.h>

namespace aliquot::mps {
namespace {

constexpr std::uint64_t kMiB = 1U << 20U;

TEST(Reply, PercentagesComeWithAndWithoutAPoint) {
    EXPECT_EQ(*parse_percentage("25.0\n"), 25.0);
    EXPECT_EQ(*parse_percentage("100"), 100.0);
    for (const auto* wrong : {"", "0", "-5", "101", "25 %", "Cannot find MPS control daemon"}) {
        EXPECT_FALSE(parse_percentage(wrong)) << wrong;
    }
}

TEST(Reply, MemoryLimitsComeInEveryUnit) {
    EXPECT_EQ(**parse_memory_limit("3G\n"), 3072 * kMiB);
    EXPECT_EQ(**parse_memory_limit("3072M"), 3072 * kMiB);
    EXPECT_EQ(**parse_memory_limit("512KB"), kMiB / 2);
    EXPECT_EQ(**parse_memory_limit("1048576"), kMiB);
    EXPECT_EQ(*parse_memory_limit(""), std::nullopt);
    EXPECT_EQ(*parse_memory_limit("Unlimited\n"), std::nullopt);
    EXPECT_FALSE(parse_memory_limit("G"));
    EXPECT_FALSE(parse_memory_limit("many"));
}

TEST(Reply, ServersAreOnePidALine) {
    EXPECT_EQ(*parse_pids("6472\n6473\n\n"), (std::vector<std::uint32_t>{6472, 6473}));
    EXPECT_TRUE(parse_pids("")->empty());
    EXPECT_FALSE(parse_pids("6472 6473"));
    EXPECT_FALSE(parse_pids("0"));
}

TEST(Reply, ServerStatesAreRead) {
    EXPECT_EQ(parse_server_state("ACTIVE\n"), ServerState::kActive);
    EXPECT_EQ(parse_server_state("initializing"), ServerState::kInitializing);
    EXPECT_EQ(parse_server_state("FAULT"), ServerState::kFault);
    EXPECT_EQ(parse_server_state("?"), ServerState::kUnknown);
}

TEST(Reply, TheTableIsReadByTheNamesOfItsColumns) {
    const auto rows = parse_process_table(
        "PID       ID    SERVER    DEVICE                 NAMESPACE     COMMAND\n"
        "9741      0     6472      GPU-cb1213a3-d6a4-be7f 4026531836    ./nbody -n 5\n"
        "something else\n"
        "9743      1     6472      GPU-cb1213a3-d6a4-be7f 4026531836    python\n");
    ASSERT_TRUE(rows) << rows.error().message;
    ASSERT_EQ(rows->size(), 2U);
    EXPECT_EQ(rows->at(0), (ClientRow{9741, 6472, "GPU-cb1213a3-d6a4-be7f", "./nbody -n 5"}));
    EXPECT_EQ(rows->at(1).pid, 9743U);
    EXPECT_TRUE(parse_process_table("\n")->empty());
    EXPECT_FALSE(parse_process_table("Unrecognized command: ps"));
}

TEST(Reply, MemoryLimitsAreWrittenInWholeMiBRoundedDown) {
    EXPECT_EQ(memory_limit_text(3072 * kMiB), "3072M");
    EXPECT_EQ(memory_limit_text(3072 * kMiB - 1), "3071M");
}

}  // namespace
}  // namespace aliquot::mps
