// SPDX-License-Identifier: Apache-2.0
#include "sizing/measured.h"

#include <gtest/gtest.h>

namespace aliquot::sizing {
namespace {

constexpr std::string_view kIdle = R"(runs:
- {workload: tts, instance: g5.4xlarge, gpu_memory_peak_gib: 3, gpu_busy_percent: 20, cpu_peak: 1.5, memory_peak_gib: 6}
- {workload: tts, instance: g5.4xlarge, gpu_memory_peak_gib: 3.2, gpu_busy_percent: 25, cpu_peak: 1.2, memory_peak_gib: 6}
- {workload: tts, instance: g5.4xlarge, gpu_memory_peak_gib: 2.9, gpu_busy_percent: 22, cpu_peak: 1.4, memory_peak_gib: 5}
)";

RightSize only(std::string_view text, unsigned least_runs) {
    const auto runs = read_runs("runs.yaml", text);
    EXPECT_TRUE(runs) << runs.error().message;
    const auto sizes = right_size(*runs, least_runs);
    EXPECT_TRUE(sizes) << sizes.error().message;
    EXPECT_EQ(sizes->size(), 1U);
    return sizes->front();
}

TEST(Measured, RunsBelowHalfGoDownToTheCheapestMachineThatHoldsThePeaks) {
    const RightSize size = only(kIdle, 3);
    EXPECT_EQ(size.direction, Direction::kDown);
    EXPECT_EQ(size.to, "g4dn.xlarge");
    EXPECT_GT(size.usd_per_month_saved, 500);
}

TEST(Measured, RunsThatAreTooFewChangeNothing) {
    const RightSize size = only(kIdle, 5);
    EXPECT_EQ(size.direction, Direction::kTooFew);
    EXPECT_TRUE(size.to.empty());
}

TEST(Measured, RunsOutOfMemoryGoUpAtOnce) {
    const RightSize size = only(
        "- {workload: train, instance: g4dn.xlarge, gpu_memory_peak_gib: 15.9, cpu_peak: 2, "
        "memory_peak_gib: 9, out_of_memory: true}\n",
        3);
    EXPECT_EQ(size.direction, Direction::kUp);
    EXPECT_FALSE(size.to.empty());
    EXPECT_NE(size.to, "g4dn.xlarge");
    EXPECT_LT(size.usd_per_month_saved, 0);
}

TEST(Measured, RunsThatUseTheirMachineStay) {
    const RightSize size = only(
        "- {workload: x, instance: g4dn.xlarge, gpu_memory_peak_gib: 12, gpu_busy_percent: 90, "
        "cpu_peak: 3, memory_peak_gib: 9}\n",
        1);
    EXPECT_EQ(size.direction, Direction::kStay);
}

TEST(Measured, FilesWithMistakesAreRefusedWithTheirPlace) {
    const auto error = [](std::string_view text) {
        const auto runs = read_runs("runs.yaml", text);
        return runs ? std::string() : runs.error().message;
    };
    EXPECT_EQ(error("- workload: a\n  instnace: b\n"),
              "runs.yaml:2:3: 'instnace' is not a key of a run, did you mean 'instance'?");
    EXPECT_EQ(error("- workload: a\n"), "runs.yaml:1:3: a run needs 'workload' and 'instance'");
    EXPECT_NE(error("- workload: a\n  instance: b\n  cpu_peak: -1\n").find("runs.yaml:3:13"),
              std::string::npos);
    EXPECT_NE(error("").find("a list of runs is expected"), std::string::npos);
    EXPECT_NE(error("a: [").find("runs.yaml:"), std::string::npos);
}

}  // namespace
}  // namespace aliquot::sizing
