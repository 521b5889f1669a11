// SPDX-License-Identifier: Apache-2.0
#include "base/line_output.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <string>

namespace aliquot {
namespace {

class LineOutputTest : public testing::Test {
protected:
    void SetUp() override { ASSERT_EQ(::pipe2(pipe_.data(), O_CLOEXEC), 0); }
    void TearDown() override {
        for (const int end : pipe_) ::close(end);
    }
    /// All that is in the pipe now.
    std::string read_all() {
        ::fcntl(pipe_[0], F_SETFL, O_NONBLOCK);
        std::string text;
        std::array<char, 65536> part{};
        for (ssize_t got = 0; (got = ::read(pipe_[0], part.data(), part.size())) > 0;) {
            text.append(part.data(), static_cast<std::size_t>(got));
        }
        return text;
    }

    std::array<int, 2> pipe_{};
};

TEST_F(LineOutputTest, WhatFindsNoRoomIsDroppedAndCountedAndNobodyWaits) {
    LineOutput output(pipe_[1]);
    const std::string line(199, 'x');
    unsigned written = 0;
    for (int i = 0; i < 100'000; ++i) written += output.write(line + "\n") ? 1 : 0;
    EXPECT_GT(written, 100U);  // a pipe holds 64 KiB
    EXPECT_LT(written, 10'000U);
    EXPECT_FALSE(output.may_tell_of_dropped());
    EXPECT_EQ(read_all().size(), written * 200U);
    EXPECT_TRUE(output.may_tell_of_dropped());
    EXPECT_EQ(output.take_dropped(), 100'000U - written);
    EXPECT_TRUE(output.write("again\n"));
    EXPECT_EQ(read_all(), "again\n");
}

TEST_F(LineOutputTest, ALongLineIsWrittenInParts) {
    LineOutput output(pipe_[1]);
    const std::string line(30'000, 'y');
    EXPECT_TRUE(output.write(line));
    EXPECT_EQ(read_all(), line);
}

TEST_F(LineOutputTest, AReaderThatHasGoneIsNoSignal) {
    LineOutput output(pipe_[1]);
    ::close(std::exchange(pipe_[0], ::dup(pipe_[1])));
    EXPECT_FALSE(output.write("line\n"));
    EXPECT_EQ(output.take_dropped(), 1U);
}

}  // namespace
}  // namespace aliquot
