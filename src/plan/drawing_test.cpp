// SPDX-License-Identifier: Apache-2.0
#include "plan/drawing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace aliquot::plan {
namespace {

using testing::HasSubstr;
using testing::Not;

Plan two_on_one() {
    Plan plan;
    plan.recommendation = "share it";
    for (unsigned i = 0; i < 2; ++i) {
        plan.shares.push_back({.workload = "tts",
                               .replica = i,
                               .mode = Mode::kFraction,
                               .need_mib = 2048,
                               .memory_mib = 7168,
                               .gpu = 0});
    }
    plan.shares.push_back({.workload = "cron", .mode = Mode::kCpu});
    plan.gpus.push_back({.gpu = 0,
                         .pool = "node-1",
                         .model = "a2",
                         .mode = Mode::kFraction,
                         .replicas = 2,
                         .memory_mib = 15360,
                         .reserve_mib = 1024,
                         .shares = {0, 1}});
    return plan;
}

TEST(PlanDrawing, ShowsEachGpuWithItsShares) {
    const std::string svg = drawing(two_on_one());
    EXPECT_THAT(svg, HasSubstr(">GPU 0  a2  node-1</text>"));
    EXPECT_THAT(svg, HasSubstr(">15 GiB, fraction, 2 shares</text>"));
    EXPECT_THAT(svg, HasSubstr(">tts-1</text>"));
    EXPECT_THAT(svg, HasSubstr(">7 GiB</text>"));
    EXPECT_THAT(svg, HasSubstr("on the CPU: cron-0"));
}

TEST(PlanDrawing, SaysWhatHasNoPlaceAndCountsWhatIsLeftOut) {
    Plan plan = two_on_one();
    for (int i = 0; i < 20; ++i) plan.unplaced.push_back("<b>big</b>-" + std::to_string(i));
    plan.gpus.resize(40);
    const std::string svg = drawing(plan);
    EXPECT_THAT(svg, HasSubstr("no place for &lt;b&gt;big&lt;/b&gt;-0"));
    EXPECT_THAT(svg, Not(HasSubstr("<b>")));
    EXPECT_THAT(svg, HasSubstr("and 8 GPUs more"));
}

TEST(PlanDrawing, KeepsSharesWithinTheirGpu) {
    Plan plan = two_on_one();
    plan.shares[0].memory_mib = 1e9;
    const std::string svg = drawing(plan);
    EXPECT_THAT(svg, Not(HasSubstr("width=\"-")));
    EXPECT_THAT(svg, Not(HasSubstr("nan")));
    EXPECT_THAT(drawing(Plan{}), HasSubstr("</svg>"));
}

}  // namespace
}  // namespace aliquot::plan
