// SPDX-License-Identifier: Apache-2.0
#include "pods/device_holds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "os/temporary_directory.h"

namespace aliquot::pods {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kGpu[] = "nvidia.com/gpu";
const DeviceHold kNamed{.resource = kGpu, .id = "GPU-a", .pod = "ai/one"};
const DeviceHold kUnnamed{.resource = kGpu, .id = "GPU-a", .pod = ""};

/// A pod with one device, of which kubelet has written down what it gave.
class HoldJudgeTest : public testing::Test {
protected:
    HoldJudgeTest() {
        evidence_.written = {
            {.pod_uid = "u1", .container = "main", .resource = kGpu, .ids = {"GPU-a"}}};
        evidence_.listed.emplace();
        evidence_.running.emplace();
    }
    DeviceHolds after(std::chrono::milliseconds wait = 0ms) {
        now_ += wait;
        return judge_.judge(evidence_, now_);
    }
    /// Whether it counts at first and not after a while.
    testing::AssertionResult ends_after_a_while() {
        if (after().list.size() != 1) return testing::AssertionFailure() << "ended at once";
        if (after(1400ms).list.size() != 1) return testing::AssertionFailure() << "ended early";
        if (!after(200ms).list.empty()) return testing::AssertionFailure() << "still counts";
        return testing::AssertionSuccess();
    }
    testing::AssertionResult stays() {
        for (int i = 0; i < 5; ++i) {
            if (after(30s).list.size() != 1) return testing::AssertionFailure() << "ended";
        }
        return testing::AssertionSuccess();
    }

    HoldEvidence evidence_;
    HoldJudge judge_{{}};
    os::TimePoint now_{};
};

TEST_F(HoldJudgeTest, WhatKubeletListsIsHeldByThatName) {
    evidence_.listed->pods = {{"ai", "one"}};
    evidence_.listed->holders = {{"ai", "one", "main", kGpu, {"GPU-a"}}};
    EXPECT_THAT(after().list, ElementsAre(kNamed));
    EXPECT_TRUE(stays());
}

TEST_F(HoldJudgeTest, WhileItEndsItIsToldApartWhereProcessesCanBeSeen) {
    EXPECT_TRUE(after().list.at(0).ending);
    evidence_.running.reset();
    EXPECT_FALSE(after().list.at(0).ending);
    evidence_.listed.reset();
    EXPECT_FALSE(after().list.at(0).ending);
}

TEST_F(HoldJudgeTest, WhatNobodyHoldsAnyMoreEndsAfterAWhile) { EXPECT_TRUE(ends_after_a_while()); }

TEST_F(HoldJudgeTest, WithoutAnAnswerNothingEnds) {
    evidence_.listed.reset();
    EXPECT_TRUE(stays());
    EXPECT_EQ(after().problem, "");
}

TEST_F(HoldJudgeTest, WithoutTheCheckpointThereMayBeMore) {
    evidence_.written.reset();
    EXPECT_NE(after().problem, "");
}

TEST_F(HoldJudgeTest, AKubeletThatHasJustStartedListsNobodyButTheProcessesRun) {
    evidence_.running = {"u1"};
    evidence_.names = {{"u1", {"ai", "one"}}};
    EXPECT_TRUE(stays());
    EXPECT_THAT(after().list, ElementsAre(kNamed));
    evidence_.running->clear();
    EXPECT_TRUE(ends_after_a_while());
}

TEST_F(HoldJudgeTest, AnInitContainerIsNeverListedButItsPodIs) {
    evidence_.listed->pods = {{"ai", "one"}};
    evidence_.names = {{"u1", {"ai", "one"}}};
    EXPECT_TRUE(stays());
}

TEST_F(HoldJudgeTest, APodWithoutLogsYetMayBeTheOneThatHolds) {
    evidence_.listed->pods = {{"ai", "starting"}};
    EXPECT_TRUE(stays());
    EXPECT_THAT(after().list, ElementsAre(kUnnamed));
    evidence_.names = {{"u2", {"ai", "starting"}}};  // it is another one
    EXPECT_TRUE(ends_after_a_while());
}

TEST_F(HoldJudgeTest, AnEndedPodIsNotTheNextOneOfItsName) {
    evidence_.listed->pods = {{"ai", "one"}};
    evidence_.names = {{"u1", {"ai", "one"}}, {"u2", {"ai", "one"}}};
    EXPECT_TRUE(stays());  // which of the two it is cannot be told
    evidence_.running = {"u2"};
    EXPECT_TRUE(ends_after_a_while());
}

TEST_F(HoldJudgeTest, WhereProcessesCannotBeSeenItTakesLonger) {
    evidence_.running.reset();
    EXPECT_THAT(after().list, SizeIs(1));
    EXPECT_THAT(after(9900ms).list, SizeIs(1));
    EXPECT_THAT(after(200ms).list, IsEmpty());
}

TEST_F(HoldJudgeTest, APodThatIsListedAgainHasNotEnded) {
    EXPECT_THAT(after().list, SizeIs(1));
    evidence_.running = {"u1"};
    EXPECT_THAT(after(10s).list, SizeIs(1));
    evidence_.running->clear();
    EXPECT_TRUE(ends_after_a_while());
}

TEST(HoldReader, ReadsTheCheckpointWithoutAskingAnybody) {
    os::TemporaryDirectory directory;
    const os::Root root(directory.path());
    os::SystemClock clock;
    HoldReader reader(root, clock, {.checkpoint = "/checkpoint"}, [](auto) {
        ADD_FAILURE() << "asked";
        return Error{ErrorCode::kUnavailable, "no"};
    });
    EXPECT_THAT(reader.written().list, IsEmpty());
    EXPECT_EQ(reader.written().problem, "");
    ASSERT_TRUE(root.write_atomically(
        "/checkpoint",
        R"({"Data":{"PodDeviceEntries":[{"PodUID":"u1","ContainerName":"main","ResourceName":")" +
            std::string(kGpu) + R"(","DeviceIDs":{"0":["GPU-a"]}}]}})"));
    EXPECT_THAT(reader.written().list, ElementsAre(kUnnamed));
    ASSERT_TRUE(root.write_atomically("/checkpoint", "garbage"));
    EXPECT_NE(reader.written().problem, "");
}

}  // namespace
}  // namespace aliquot::pods
