// SPDX-License-Identifier: Apache-2.0
// Runs every src/sharing/cases/*.yaml against the .expected beside it: the findings as text, then a
// line for each configuration that was read. *.nvidia.yaml are read as NVIDIA's plugin does.
// UPDATE_CASES=1 rewrites the .expected files; look at the difference before you commit it.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "sharing/config_file.h"
#include "tests/case_files.h"

namespace aliquot::sharing {
namespace {

namespace fs = std::filesystem;

Compatibility mode_of(const fs::path& path) {
    return path.stem().extension() == ".nvidia" ? Compatibility::kNvidia : Compatibility::kStrict;
}

std::string report(const fs::path& path) {
    const auto checked =
        check_config_file(path.filename().string(), cases::read(path), mode_of(path));
    std::ostringstream out;
    findings::print_text(out, checked.findings, Colour::kNever);
    for (const FoundConfig& found : checked.configs) {
        out << "reads" << (found.where.empty() ? "" : " (" + found.where + ")") << ": "
            << summary(found.config) << '\n';
    }
    return out.str();
}

class ConfigCase : public testing::TestWithParam<fs::path> {};

TEST_P(ConfigCase, IsToldAsExpected) {
    fs::path expected = GetParam();
    expected.replace_extension(".expected");
    const std::string actual = report(GetParam());
    if (cases::rewrites(expected, actual)) return;
    EXPECT_EQ(actual, cases::read(expected)) << "run with UPDATE_CASES=1 if the new text is right";
}

TEST_P(ConfigCase, FixesThatMendTheSharingBlockReadWithoutErrors) {
    const auto checked = check_config_file("f", cases::read(GetParam()), Compatibility::kStrict);
    for (const auto& finding : checked.findings) {
        if (finding.fix.rfind("sharing:", 0) != 0) continue;
        const auto corrected = read_config("fix", finding.fix, Compatibility::kStrict);
        EXPECT_TRUE(corrected.config) << finding.fix << corrected.findings[0].message;
    }
}

TEST_P(ConfigCase, FindingsHavePlacesInsideTheFile) {
    const std::string text = cases::read(GetParam());
    std::vector<std::string> lines(1);
    for (const char c : text) {
        if (c == '\n') {
            lines.emplace_back();
        } else {
            lines.back() += c;
        }
    }
    for (const auto& finding : check_config_file("f", text, mode_of(GetParam())).findings) {
        if (finding.line == 0) continue;
        ASSERT_LE(finding.line, lines.size()) << finding.message;
        EXPECT_LE(finding.column, lines[finding.line - 1].size() + 1) << finding.message;
        EXPECT_GE(finding.column, 1U);
    }
}

INSTANTIATE_TEST_SUITE_P(Cases, ConfigCase,
                         testing::ValuesIn(cases::files({"src/sharing/cases"}, ".yaml")),
                         [](const auto& one) {
                             std::string name = one.param.stem().string();
                             std::replace_if(
                                 name.begin(), name.end(),
                                 [](char c) { return c == '-' || c == '.'; }, '_');
                             return name;
                         });

}  // namespace
}  // namespace aliquot::sharing
