// SPDX-License-Identifier: Apache-2.0
#include "metrics/text.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "metrics/histogram.h"

namespace aliquot::metrics {
namespace {

TEST(TextTest, FamilyWithoutRowsIsNotThere) {
    std::string out;
    Text text(out);
    text.family("empty_total", "Nothing.", "counter");
    text.single("there", "Something.", "gauge", 3);
    EXPECT_EQ(out, "# HELP there Something.\n# TYPE there gauge\nthere 3\n");
}

TEST(TextTest, LabelsAreEscapedAndHaveNoBrokenBytes) {
    std::string out;
    Text text(out);
    text.family("owner_info", "Who\\what.", "info");
    text.row("").label("owner", "a\"b\\c\nd\xff\xc3\xa4").label("gpus", 2).is("0.5");
    EXPECT_EQ(out,
              "# HELP owner_info Who\\\\what.\n# TYPE owner_info gauge\n"
              "owner_info{owner=\"a\\\"b\\\\c\\nd\xEF\xBF\xBD\xc3\xa4\",gpus=\"2\"} 0.5\n");
}

TEST(TextTest, OpenMetricsNamesFamiliesWithoutTheirEnding) {
    std::string out;
    Text text(out, Format::kOpenMetrics);
    text.single("reads_total", "Reads.", "counter", 1);
    text.single("reads", "Reads.", "counter", 1);
    text.family("wait_seconds", "Waits.", "gauge", "seconds");
    text.row("").is(0.25);
    text.finish();
    EXPECT_EQ(out,
              "# HELP reads Reads.\n# TYPE reads counter\nreads_total 1\n"
              "# HELP reads Reads.\n# TYPE reads unknown\nreads 1\n"
              "# HELP wait_seconds Waits.\n# TYPE wait_seconds gauge\n# UNIT wait_seconds seconds\n"
              "wait_seconds 0.25\n# EOF\n");
}

TEST(HistogramTest, BucketsCountWhatIsAtMostTheirBound) {
    static constexpr std::array<double, 2> kBounds{0.00005, 2.5};
    Histogram histogram(kBounds);
    for (const double value : {0.00005, 1.0, 2.5, 7.0}) histogram.add(value);
    std::string out;
    Text text(out);
    text.family("took_seconds", "Time.", "histogram");
    histogram.write(text, "stage=\"run\"");
    EXPECT_EQ(out,
              "# HELP took_seconds Time.\n# TYPE took_seconds histogram\n"
              "took_seconds_bucket{stage=\"run\",le=\"0.00005\"} 1\n"
              "took_seconds_bucket{stage=\"run\",le=\"2.5\"} 3\n"
              "took_seconds_bucket{stage=\"run\",le=\"+Inf\"} 4\n"
              "took_seconds_sum{stage=\"run\"} 10.50005\ntook_seconds_count{stage=\"run\"} 4\n");
}

}  // namespace
}  // namespace aliquot::metrics
