// SPDX-License-Identifier: Apache-2.0
#include "exposition/style.h"

#include <gtest/gtest.h>

#include "exposition/own.h"
#include "exposition/text.h"

namespace aliquot::exposition {
namespace {

TEST(ChooseFormat, GivesPrometheusWhatItLikesBest) {
    EXPECT_EQ(choose_format("application/openmetrics-text;version=1.0.0,application/"
                            "openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,"
                            "*/*;q=0.1"),
              Format::kOpenMetrics);
    EXPECT_EQ(choose_format("application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,"
                            "text/plain;version=0.0.4;q=0.4,*/*;q=0.2"),
              Format::kOpenMetrics);
    EXPECT_EQ(choose_format("text/plain;version=0.0.4;q=1,application/openmetrics-text;q=0.9"),
              Format::kText);
}

TEST(ChooseFormat, GivesTextToAllOthers) {
    for (const std::string_view accept :
         {"", "*/*", "text/html", ",,;;==", "application/openmetrics-text;q=0",
          "application/openmetrics-text;version=0.0.1", "application/openmetrics-text;q=x"}) {
        EXPECT_EQ(choose_format(accept), Format::kText) << accept;
    }
    EXPECT_EQ(choose_format("Application/OpenMetrics-Text; Version=\"1.0.0\""),
              Format::kOpenMetrics);
}

TEST(CompatOf, KnowsFourWords) {
    EXPECT_EQ(compat_of("4.9"), Compat::kRenamed);
    EXPECT_EQ(compat_of("both"), Compat::kBoth);
    EXPECT_EQ(compat_of("off"), Compat::kOff);
    EXPECT_EQ(compat_of("classic"), Compat::kClassic);
    EXPECT_EQ(compat_of("Classic"), std::nullopt);
}

TEST(Text, WritesDecimalsExactly) {
    std::string out;
    Text text(out, Format::kText);
    text.family("n", "Help with a \\ and a \"quote\".", "gauge", "none");
    text.row({}).is(Decimal{18'446'744'073'709'551'615U, 9, false});
    text.row("a=\"1\"").is(Decimal{1'000'000'001, 9, false});
    text.row({}).label("b", 7U).is(Decimal{26'589'000, 6, true});
    text.row({}).label("c", "x").is(Decimal{5, 6, false});
    text.row({}).label("d", "x").is(1.5);
    text.row({}).label("e", "x").is(9007199254740992.0);
    text.row({}).label("f", "x").is(-2.5);
    EXPECT_EQ(
        out,
        "# HELP n Help with a \\\\ and a \"quote\".\n# TYPE n gauge\n"
        "n 18446744073.709551615\nn{a=\"1\"} 1.000000001\nn{b=\"7\"} 26.589000\n"
        "n{c=\"x\"} 0.000005\nn{d=\"x\"} 1.5\nn{e=\"x\"} 9007199254740992\nn{f=\"x\"} -2.5\n");
}

TEST(Text, NamesFamiliesInOpenMetricsWithoutTheirEndings) {
    std::string out;
    Text text(out, Format::kOpenMetrics);
    text.family("gpu_busy_seconds_total");
    text.row({}).is(1U);
    text.family("gpu_info");
    text.row({}).is(1U);
    text.family("DCGM_FI_DEV_PCIE_REPLAY_COUNTER");
    text.row({}).is(1U);
    text.family("gpu_pstate");  // without rows
    text.finish();
    EXPECT_NE(out.find("# TYPE gpu_busy_seconds counter\n# UNIT gpu_busy_seconds seconds\n"
                       "gpu_busy_seconds_total 1\n"),
              std::string::npos)
        << out;
    EXPECT_NE(out.find("# TYPE gpu info\ngpu_info 1\n"), std::string::npos) << out;
    EXPECT_NE(out.find("# TYPE DCGM_FI_DEV_PCIE_REPLAY_COUNTER unknown\n"), std::string::npos)
        << out;
    EXPECT_EQ(out.find("pstate"), std::string::npos) << out;
    EXPECT_TRUE(out.ends_with("# EOF\n"));
}

TEST(Own, KnowsThisProcess) {
    const Own own = read_own();
    ASSERT_TRUE(own.resident_bytes && own.virtual_bytes && own.cpu_ns && own.open_files);
    EXPECT_GT(*own.resident_bytes, 1U << 20U);
    EXPECT_GE(*own.virtual_bytes, *own.resident_bytes);
    EXPECT_GE(*own.open_files, 3U);
    ASSERT_TRUE(own.started);
    EXPECT_LE(*own.started, std::chrono::system_clock::now());
    EXPECT_GT(*own.started, std::chrono::system_clock::now() - std::chrono::hours(24));
}

}  // namespace
}  // namespace aliquot::exposition
