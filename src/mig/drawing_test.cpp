// SPDX-License-Identifier: Apache-2.0
#include "mig/drawing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace aliquot::mig {
namespace {

using testing::HasSubstr;
using testing::Not;

Instance instance(std::string profile, unsigned start, unsigned size, bool busy = false) {
    return {.profile = std::move(profile), .start = start, .size = size, .busy = busy};
}

DrawnChange change() {
    return {.name = "NVIDIA A100",
            .slices = 8,
            .now = {instance("1g.5gb", 0, 1), instance("3g.20gb", 4, 4, true)},
            .steps = {{Step::Action::kDestroy, instance("1g.5gb", 0, 1)},
                      {Step::Action::kCreate, instance("2g.10gb", 0, 2)}},
            .after = {instance("2g.10gb", 0, 2), instance("3g.20gb", 4, 4, true)},
            .remark = "room for 1g.5gb"};
}

TEST(MigDrawing, ShowsWhatGoesWhatIsNewAndWhatStaysInUse) {
    const std::string svg = drawing({change()});
    EXPECT_THAT(svg, HasSubstr(">goes</text>"));
    EXPECT_THAT(svg, HasSubstr(">new</text>"));
    EXPECT_THAT(svg, HasSubstr(">in use</text>"));
    EXPECT_THAT(svg, HasSubstr("2 steps: destroy 1g.5gb@0, create 2g.10gb@0"));
    EXPECT_THAT(svg, HasSubstr("room for 1g.5gb"));
    EXPECT_THAT(svg, HasSubstr("<desc>NVIDIA A100: 2 steps. </desc>"));
}

TEST(MigDrawing, SaysWhyNotAndShowsTheNearest) {
    DrawnChange refused = change();
    refused.refusal = "3g.20gb@4 is busy";
    const std::string svg = drawing({refused});
    EXPECT_THAT(svg, HasSubstr("cannot: 3g.20gb@4 is busy"));
    EXPECT_THAT(svg, HasSubstr(">nearest</text>"));
    EXPECT_THAT(svg, Not(HasSubstr(">new</text>")));
}

TEST(MigDrawing, TakesInstancesBeyondTheSlicesThatWereToldAndNoGpuAtAll) {
    DrawnChange odd = change();
    odd.slices = 0;
    EXPECT_THAT(drawing({odd}), HasSubstr(">7</text>"));
    EXPECT_THAT(drawing({}), HasSubstr("</svg>"));
    EXPECT_THAT(drawing({DrawnChange{}}), HasSubstr("nothing to do"));
}

TEST(MigDrawing, DrawsAModelsNameAsText) {
    DrawnChange hostile = change();
    hostile.name = "<script>alert(1)</script>";
    EXPECT_THAT(drawing({hostile}), Not(HasSubstr("<script")));
}

}  // namespace
}  // namespace aliquot::mig
