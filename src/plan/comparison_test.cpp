// SPDX-License-Identifier: Apache-2.0
#include "plan/comparison.h"

#include <gmock/gmock.h>

namespace aliquot::plan {
namespace {

using testing::Contains;
using testing::HasSubstr;

/// Runs that take as long as these, give or take 2 %.
std::vector<double> around(double seconds) { return {seconds * 0.98, seconds, seconds * 1.02}; }

Measured measured(double cpu, double gpu, double alone, double shared, unsigned sharers = 2) {
    return {.cpu = cpu > 0 ? around(cpu) : std::vector<double>{},
            .gpu = around(gpu),
            .share_alone = around(alone),
            .shared = around(shared),
            .sharers = sharers};
}

TEST(Comparison, MediansAreThoseOfTheMiddle) {
    EXPECT_EQ(summary_of({3}).median, 3);
    EXPECT_EQ(summary_of({5, 1, 3}).median, 3);
    const TimeSummary even = summary_of({4, 1, 100, 2});
    EXPECT_EQ(even.median, 3);
    EXPECT_EQ(even.least, 1);
    EXPECT_EQ(even.most, 100);
}

TEST(Comparison, OfSpeechOnAnA2IsAsTheTableSays) {
    const auto made = compare(measured(4, 0.8, 0.8, 1.6), known_work("tts"));
    EXPECT_EQ(made.verdict, Verdict::kShare);
    EXPECT_NEAR(*made.speedup_gpu, 5, 1e-9);
    EXPECT_NEAR(*made.speedup_share_alone, 5, 1e-9);
    EXPECT_NEAR(*made.speedup_shared, 2.5, 1e-9);
    EXPECT_NEAR(*made.expected_shared, 2.5, 1e-9);
    EXPECT_NEAR(made.overhead, 0, 1e-9);
    EXPECT_THAT(made.sentence, HasSubstr("2.5 times as fast as the CPU, alone 5 times"));
    EXPECT_THAT(made.reasons,
                Contains(HasSubstr("about 5 times (3 to 10); measured 5: as expected")));
    EXPECT_THAT(made.reasons, Contains(HasSubstr("5 / 2 = 2.5 without overhead, measured 2.5")));
}

TEST(Comparison, SaysWhatSharingCostsOrGains) {
    const auto lossy = compare(measured(10, 1, 1.3, 3, 2), nullptr);
    EXPECT_EQ(lossy.verdict, Verdict::kShare);
    EXPECT_NEAR(lossy.overhead, 1 - 2.0 / 3, 1e-9);
    EXPECT_THAT(lossy.reasons, Contains(HasSubstr("33 % of the GPU's work is lost")));
    EXPECT_THAT(lossy.reasons,
                Contains(HasSubstr("77 % of the GPU's speed, 100 % is expected: the limits")));
    const auto gaining = compare(measured(10, 1, 1, 2, 4), nullptr);
    EXPECT_NEAR(gaining.overhead, -1, 1e-9);
    EXPECT_THAT(gaining.reasons, Contains(HasSubstr("together they do 2 times the work of one")));
}

TEST(Comparison, KeepsOnTheCpuWhatTheGpuDoesNotSpeedUp) {
    EXPECT_EQ(compare(measured(1, 1, 1, 2), nullptr).verdict, Verdict::kCpu);
    EXPECT_EQ(compare(measured(1, 5, 5, 10), nullptr).verdict, Verdict::kCpu);
    const auto own = compare(measured(4, 1, 1, 8, 8), nullptr);
    EXPECT_EQ(own.verdict, Verdict::kOwnGpu);
    EXPECT_THAT(own.sentence, HasSubstr("not 8 at once"));
}

TEST(Comparison, IsNotSureWhenRunsDifferAroundTheLimit) {
    Measured noisy = measured(2, 1, 1, 1.5);
    noisy.shared = {0.9, 1.5, 2.4};
    const auto made = compare(noisy, nullptr);
    EXPECT_EQ(made.verdict, Verdict::kNotSure);
    EXPECT_THAT(made.sentence, HasSubstr("the runs differ too much to tell"));
    noisy.cpu = {18, 20, 22};  // the same noise far from the limit
    EXPECT_EQ(compare(noisy, nullptr).verdict, Verdict::kShare);
}

TEST(Comparison, WithoutTheCpuJudgesOnlyTheSharing) {
    const auto made = compare(measured(0, 1, 1, 2), known_work("whisper"));
    EXPECT_EQ(made.verdict, Verdict::kShare);
    EXPECT_FALSE(made.cpu || made.speedup_gpu || made.speedup_shared || made.expected_shared);
    EXPECT_EQ(compare(measured(0, 1, 1, 4), nullptr).verdict, Verdict::kOwnGpu);
}

TEST(Comparison, ClaimsNothingOfAProgramThatLeftTheGpuIdle) {
    Measured idle = measured(4, 1, 1, 2);
    idle.used_gpu = false;
    const auto made = compare(idle, known_work("tts"));
    EXPECT_EQ(made.verdict, Verdict::kUnused);
    EXPECT_TRUE(made.reasons.empty());
}

TEST(KnownWork, IsFoundByAPartOfTheName) {
    EXPECT_EQ(known_work("faster-whisper"), known_work("stt"));
    EXPECT_EQ(known_work("kokoro-1"), known_work("tts"));
    EXPECT_EQ(known_work("llama"), nullptr);
    EXPECT_EQ(known_work(""), nullptr);
}

}  // namespace
}  // namespace aliquot::plan
