// SPDX-License-Identifier: Apache-2.0
#include "sim/trace/plot.h"

#include <gtest/gtest.h>

#include <sstream>

#include "sim/trace/outcome_text.h"

namespace aliquot::sim::trace {
namespace {

Outcome outcome_of(placement::Policy policy, double last) {
    Outcome outcome{.policy = policy, .arrivals = 3};
    outcome.curve = {{.load = 0, .allocation = 0, .fragmentation = 0},
                     {.load = 90, .allocation = 90, .fragmentation = 50},
                     {.load = 130, .allocation = last, .fragmentation = 99.5}};
    return outcome;
}

std::size_t count(const std::string& text, std::string_view part) {
    std::size_t found = 0;
    for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
    return found;
}

TEST(DrawPlot, DrawsALineForEachPolicyInEachPanelWithItsLabel) {
    const std::vector<Outcome> outcomes{outcome_of(placement::Policy::kAliquot, 96),
                                        outcome_of(placement::Policy::kFgd, 95.29)};
    std::ostringstream out;
    draw_plot(out, outcomes);
    const std::string svg = out.str();
    EXPECT_TRUE(svg.starts_with("<svg xmlns="));
    EXPECT_TRUE(svg.ends_with("</svg>\n"));
    EXPECT_EQ(count(svg, "<polyline"), 6U);
    EXPECT_EQ(count(svg, "aliquot  96.00"), 2U);
    EXPECT_EQ(count(svg, "fgd  95.29"), 2U);
    EXPECT_EQ(count(svg, "fgd  99.50"), 1U);
    // Readable without colour: the second line is dashed, in its panel and in its label.
    EXPECT_EQ(count(svg, "stroke-dasharray=\"9 4\""), 6U);
    EXPECT_EQ(svg.find("nan"), std::string::npos);
}

TEST(DrawPlot, TakesRunsWithoutAnyPoint) {
    const std::vector<Outcome> outcomes(1);
    std::ostringstream out;
    draw_plot(out, outcomes);
    EXPECT_TRUE(out.str().ends_with("</svg>\n"));
    EXPECT_EQ(out.str().find("nan"), std::string::npos);
}

TEST(PrintCurve, IsATableOfAllLoads) {
    const std::vector<Outcome> outcomes{outcome_of(placement::Policy::kFgd, 95.29)};
    std::ostringstream out;
    print_curve(out, outcomes);
    EXPECT_EQ(out.str(),
              "policy,load_percent,allocation_percent,fragmentation_percent\n"
              "fgd,0,0.00,0.00\nfgd,90,90.00,50.00\nfgd,130,95.29,99.50\n");
}

}  // namespace
}  // namespace aliquot::sim::trace
