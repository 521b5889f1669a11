// SPDX-License-Identifier: Apache-2.0
#include "mig/journal.h"

#include <gtest/gtest.h>

#include "mig/state_directory.h"
#include "os/temporary_directory.h"

namespace aliquot::mig {
namespace {

Journal sample() {
    Partitioning before{.enabled = false};
    Partitioning wanted{
        .enabled = true,
        .instances = {{.profile = "3g.20gb", .start = 0, .size = 4, .compute = {2, 1}},
                      {.profile = "1g.5gb+me", .start = 4, .size = 1, .compute = {1}},
                      {.profile = "1g.5gb", .start = 5, .size = 1}}};
    return {.direction = Journal::Direction::kBack,
            .reason = "GPU 0: \"In use\"\n  by another: client",
            .gpus = {{{"GPU-0"}, 0, before, wanted}, {{"GPU-1"}, 1, wanted, before}}};
}

TEST(MigJournal, IsReadAsItWasWritten) {
    const auto read = parse_journal(to_json(sample()));
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(*read, sample());
    const LastApplied spec{{{{"GPU-0"}, 3, sample().gpus[0].wanted}}};
    const auto desired = parse_last_applied(to_json(spec));
    ASSERT_TRUE(desired) << desired.error().message;
    EXPECT_EQ(*desired, spec);
}

TEST(MigJournal, IsRefusedWhenAnyByteOfItsBodyIsAnotherOrMissing) {
    const std::string text = to_json(sample());
    for (std::size_t length = 0; length + 3 < text.size(); length += 7) {
        EXPECT_FALSE(parse_journal(text.substr(0, length))) << length;
    }
    std::string other = text;
    other.replace(other.find("3g.20gb"), 7, "4g.20gb");
    EXPECT_FALSE(parse_journal(other));
    EXPECT_FALSE(parse_journal(to_json(LastApplied{})));
    EXPECT_FALSE(parse_last_applied(text));
    EXPECT_FALSE(
        parse_journal("{\"format\": \"aliquot-mig-journal/1\", \"checksum\": 1, \"body\": {}}"));
}

class StateDirectoryTest : public testing::Test {
protected:
    Result<StateDirectory> open(std::chrono::milliseconds wait = std::chrono::milliseconds{0}) {
        return StateDirectory::open(root_, "/state/mig", wait, clock_);
    }
    os::TemporaryDirectory directory_;
    os::Root root_{directory_.path()};
    os::SystemClock clock_;
};

TEST_F(StateDirectoryTest, KeepsAndForgetsAJournal) {
    const auto state = open();
    ASSERT_TRUE(state) << state.error().message;
    EXPECT_FALSE(state->read_journal()->has_value());
    ASSERT_TRUE(state->write_journal(sample()).ok());
    EXPECT_EQ(**state->read_journal(), sample());
    ASSERT_TRUE(state->remove_journal().ok());
    EXPECT_FALSE(state->read_journal()->has_value());
    EXPECT_TRUE(state->read_last_applied()->gpus.empty());
}

TEST_F(StateDirectoryTest, SaysWhatToDoAboutADamagedJournal) {
    const auto state = open();
    ASSERT_TRUE(root_.write_atomically("/state/mig/journal.json", "{}").ok());
    const auto read = state->read_journal();
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().code, ErrorCode::kConflict);
    EXPECT_NE(read.error().message.find("aliquot mig list"), std::string::npos);
}

TEST_F(StateDirectoryTest, IsHeldByOneAtATime) {
    {
        const auto first = open();
        ASSERT_TRUE(first);
        const auto second = open(std::chrono::milliseconds{30});
        ASSERT_FALSE(second);
        EXPECT_EQ(second.error().code, ErrorCode::kConflict);
    }
    EXPECT_TRUE(open().ok());
}

}  // namespace
}  // namespace aliquot::mig
