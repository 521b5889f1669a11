// SPDX-License-Identifier: Apache-2.0
// Renders each hand-made scene and compares with cases/SCENE.txt (classic names), and a few in other
// styles. UPDATE_CASES=1 rewrites the files; look at the difference.
#include <gtest/gtest.h>

#include "exposition/render.h"
#include "exposition/test_scenes.h"
#include "tests/case_files.h"

namespace aliquot::exposition {
namespace {

struct Case {
    std::string file;
    telemetry::Snapshot (*make)();
    Format format = Format::kText;
    Compat compat = Compat::kClassic;
    std::string counters{};  // a list, when not empty
    SharedRows shared_rows = SharedRows::kDevice;
};

std::vector<Case> cases() {
    std::vector<Case> made;
    for (const NamedScene& scene : scenes()) {
        made.push_back({std::string(scene.name), scene.make});
    }
    made.push_back({"mig_h100_open_metrics", mig_h100, Format::kOpenMetrics, Compat::kBoth, ""});
    made.push_back({"time_sliced_four_4_9", time_sliced_four, Format::kText, Compat::kRenamed, ""});
    made.push_back({"time_sliced_four_list", time_sliced_four, Format::kText, Compat::kClassic,
                    "dcgm_gpu_utilization, gauge, \"Utilization, in percent\"\n"
                    "DCGM_FI_DEV_FB_USED, gauge, Memory\n"
                    "DCGM_FI_DEV_ECC_SBE_VOL_TOTAL, counter, Errors\n"});
    for (const NamedScene& scene : scenes()) {
        if (scene.name != "time_sliced_four" && scene.name != "mig_h100") continue;
        Case pods{std::string(scene.name) + "_pods", scene.make};
        pods.shared_rows = SharedRows::kPods;
        made.push_back(pods);
    }
    return made;
}

/// The first line that differs, of both.
std::string difference(const std::string& expected, const std::string& found) {
    std::size_t line = 0;
    for (std::size_t at = 0; at < expected.size() && at < found.size(); ++at) {
        if (expected[at] != found[at]) break;
        if (expected[at] == '\n') line = at + 1;
    }
    const auto end_of = [line](const std::string& text) {
        return text.substr(std::min(line, text.size()),
                           text.find('\n', line) - std::min(line, text.size()));
    };
    return "expected: " + end_of(expected) + "\nfound:    " + end_of(found);
}

class CaseFile : public testing::TestWithParam<Case> {};

TEST_P(CaseFile, IsWhatTheSceneRendersTo) {
    Style style;
    style.format = GetParam().format;
    style.compat = GetParam().compat;
    style.shared_rows = GetParam().shared_rows;
    if (!GetParam().counters.empty()) {
        auto list = parse_counters("list.csv", GetParam().counters);
        ASSERT_TRUE(list) << list.error().message;
        style.counters = std::make_shared<const CounterList>(*std::move(list));
    }
    const std::string found = render(GetParam().make(), style);
    const std::string path = ALIQUOT_SOURCE_DIR "/src/exposition/cases/" + GetParam().file + ".txt";
    if (cases::rewrites(path, found)) return;
    const std::string expected = cases::read(path);
    EXPECT_TRUE(expected == found) << path << '\n' << difference(expected, found);
}

INSTANTIATE_TEST_SUITE_P(All, CaseFile, testing::ValuesIn(cases()),
                         [](const auto& one) { return one.param.file; });

}  // namespace
}  // namespace aliquot::exposition
