// SPDX-License-Identifier: Apache-2.0
// Runs every src/sharing/cases/*.yaml against the .expected beside it: the findings as text, then a
// line for each configuration that was read. *.nvidia.yaml are read as NVIDIA's plugin does.
// UPDATE_CASES=1 rewrites the .expected files; look at the difference before you commit it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "sharing/config_file.h"

namespace aliquot::sharing {
namespace {

namespace fs = std::filesystem;

std::string read_file(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<fs::path> case_files() {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(ALIQUOT_SOURCE_DIR "/src/sharing/cases")) {
        if (entry.path().extension() == ".yaml") files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
    return files;
}

Compatibility mode_of(const fs::path& path) {
    return path.stem().extension() == ".nvidia" ? Compatibility::kNvidia : Compatibility::kStrict;
}

std::string report(const fs::path& path) {
    const auto checked =
        check_config_file(path.filename().string(), read_file(path), mode_of(path));
    std::ostringstream out;
    findings::print_text(out, checked.findings, false);
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
    if (std::getenv("UPDATE_CASES") != nullptr) {  // NOLINT(concurrency-mt-unsafe): one thread
        std::ofstream(expected, std::ios::binary) << actual;
        return;
    }
    EXPECT_EQ(actual, read_file(expected)) << "run with UPDATE_CASES=1 if the new text is right";
}

TEST_P(ConfigCase, FixesThatMendTheSharingBlockReadWithoutErrors) {
    const auto checked = check_config_file("f", read_file(GetParam()), Compatibility::kStrict);
    for (const auto& finding : checked.findings) {
        if (finding.fix.rfind("sharing:", 0) != 0) continue;
        const auto corrected = read_config("fix", finding.fix, Compatibility::kStrict);
        EXPECT_TRUE(corrected.config) << finding.fix << corrected.findings[0].message;
    }
}

TEST_P(ConfigCase, FindingsHavePlacesInsideTheFile) {
    const std::string text = read_file(GetParam());
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

INSTANTIATE_TEST_SUITE_P(Cases, ConfigCase, testing::ValuesIn(case_files()), [](const auto& one) {
    std::string name = one.param.stem().string();
    std::replace_if(
        name.begin(), name.end(), [](char c) { return c == '-' || c == '.'; }, '_');
    return name;
});

}  // namespace
}  // namespace aliquot::sharing
