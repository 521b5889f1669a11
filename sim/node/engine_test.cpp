// SPDX-License-Identifier: Apache-2.0
#include "sim/node/engine.h"

#include <gtest/gtest.h>

#include <memory>

#include "sim/node/identity.h"
#include "sim/node/node.h"

namespace aliquot::sim {
namespace {

constexpr std::uint64_t kMs = 1'000'000;

class Engine : public ::testing::Test {
protected:
    void SetUp() override {
        auto made = state_for({.gpus = {{"a2", 1}}});
        ASSERT_TRUE(made);
        state_ = *std::move(made);
        for (unsigned entry = 0; entry < 3; ++entry) {
            ProcessState& process = state_->processes[entry];
            process.pid = entry + 1;
            process.gpu_instance = kNoInstance;
            process.compute_instance = kNoInstance;
        }
        advance(1000 * kMs);
    }
    void advance(std::uint64_t now_ns) { advance_engine(*state_, 0, {}, now_ns); }
    std::uint64_t executed(unsigned entry) const { return state_->work[entry].executed_ns; }
    std::unique_ptr<State> state_;
};

TEST_F(Engine, RunsWorkAsLongAsItTakesAndThenRests) {
    submit_work(*state_, 0, 5 * kMs);
    advance(1003 * kMs);
    EXPECT_EQ(executed(0), 3 * kMs);
    advance(1100 * kMs);
    EXPECT_EQ(executed(0), 5 * kMs);
    submit_work(*state_, 0, 5 * kMs);
    advance(1101 * kMs);
    EXPECT_EQ(executed(0), 6 * kMs) << "rest is not caught up";
}

TEST_F(Engine, GivesTurnsToThoseThatHaveWork) {
    submit_work(*state_, 0, 100 * kMs);
    submit_work(*state_, 2, 10 * kMs);
    advance(1006 * kMs);
    EXPECT_EQ(executed(0), 4 * kMs);
    EXPECT_EQ(executed(2), 2 * kMs);
    advance(1020 * kMs);
    EXPECT_EQ(executed(0), 10 * kMs);
    EXPECT_EQ(executed(2), 10 * kMs);
    advance(1050 * kMs);
    EXPECT_EQ(executed(0), 40 * kMs) << "alone again";
}

TEST_F(Engine, IsTheSameHoweverOftenOneLooks) {
    for (const std::uint64_t step : {1U, 13U, 777U}) {
        SetUp();
        submit_work(*state_, 0, 30 * kMs);
        submit_work(*state_, 1, 7 * kMs);
        submit_work(*state_, 2, 11 * kMs);
        for (std::uint64_t now = 1000 * kMs; now < 1040 * kMs; now += step * 10'000) advance(now);
        advance(1040 * kMs);
        EXPECT_EQ(executed(0), 22 * kMs);
        EXPECT_EQ(executed(1), 7 * kMs);
        EXPECT_EQ(executed(2), 11 * kMs);
    }
}

TEST_F(Engine, TellsWhenAMarkWasPassedThoughNobodyLookedThen) {
    submit_work(*state_, 0, 4 * kMs);
    const auto mark = set_mark(*state_, 0, submit_work(*state_, 0, 1 * kMs));
    ASSERT_TRUE(mark);
    submit_work(*state_, 0, 50 * kMs);
    submit_work(*state_, 1, 50 * kMs);
    EXPECT_EQ(predicted_end(*state_, 0, 5 * kMs), 1009 * kMs);
    advance(1500 * kMs);
    EXPECT_EQ(state_->work[0].marks[*mark % kMaxMarks].reached_ns, 1009 * kMs);
    EXPECT_EQ(predicted_end(*state_, 0, 5 * kMs), 0U);
}

TEST_F(Engine, KeepsSoManyMarksAndNoMore) {
    for (unsigned i = 0; i < kMaxMarks; ++i) {
        EXPECT_TRUE(set_mark(*state_, 0, submit_work(*state_, 0, kMs)));
    }
    EXPECT_FALSE(set_mark(*state_, 0, submit_work(*state_, 0, kMs)));
    advance(1001 * kMs);
    EXPECT_TRUE(set_mark(*state_, 0, submit_work(*state_, 0, kMs)));
}

TEST_F(Engine, KnowsHowBusyAProcessWas) {
    submit_work(*state_, 0, 50 * kMs);
    advance(1200 * kMs);
    EXPECT_EQ(state_->processes[0].sm_percent, 25U);
    advance(1400 * kMs);
    EXPECT_EQ(state_->processes[0].sm_percent, 0U);
}

TEST_F(Engine, ForgetsTheWorkOfAProcessThatIsGone) {
    submit_work(*state_, 0, 1000 * kMs);
    submit_work(*state_, 1, 10 * kMs);
    forget_work(*state_, 0);
    state_->processes[0].pid = 0;
    EXPECT_EQ(predicted_end(*state_, 1, 10 * kMs), 1010 * kMs);
}

}  // namespace
}  // namespace aliquot::sim
