// SPDX-License-Identifier: Apache-2.0
#include "doctor/drawing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace aliquot::doctor {
namespace {

using testing::HasSubstr;
using testing::Not;

Report broken_runtime() {
    Report report;
    report.target = {Target::Kind::kPod, "team/<script>alert(1)</script>"};
    report.title = "gpu-1";
    report.checks = {{.id = "DRV001", .level = Level::kDriver, .verdict = ok("loaded")},
                     {.id = "RUN002",
                      .level = Level::kRuntime,
                      .severity = "error",
                      .verdict = failed("no runtime <b>class</b>")},
                     {.id = "PLG001",
                      .level = Level::kPlugin,
                      .verdict = {.outcome = Outcome::kSkipped},
                      .blocked_by = "RUN002"}};
    report.checks[1].verdict.fix("nvidia-ctk runtime configure", Risk::kRestartRuntime);
    report.root_causes = {"RUN002"};
    return report;
}

TEST(DoctorDrawing, ShowsTheBrokenLayerWithItsReasonAndItsFix) {
    const std::string svg = drawing(broken_runtime());
    EXPECT_THAT(svg, HasSubstr(">broken</text>"));
    EXPECT_THAT(svg, HasSubstr("RUN002 no runtime &lt;b&gt;class&lt;/b&gt;"));
    EXPECT_THAT(svg, HasSubstr("Fix: nvidia-ctk runtime configure"));
    EXPECT_THAT(svg, HasSubstr("ok, 1 check"));
    EXPECT_THAT(svg, HasSubstr("not judged: RUN002 comes first"));
    EXPECT_THAT(svg, HasSubstr("<desc>kernel driver ok, "));
}

TEST(DoctorDrawing, DrawsNamesOfPodsAsText) {
    EXPECT_THAT(drawing(broken_runtime()), Not(HasSubstr("<script")));
}

TEST(DoctorDrawing, TakesAReportWithoutChecks) {
    EXPECT_THAT(drawing(Report{}), HasSubstr("every layer holds"));
}

}  // namespace
}  // namespace aliquot::doctor
