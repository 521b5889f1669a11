// SPDX-License-Identifier: Apache-2.0
// Runs every case of src/lint/cases/RULE: bad-* against the NAME.findings beside it, good-* must be clean.
// A case is a file or a directory. UPDATE_CASES=1 rewrites the .findings; look at the difference before you
// commit it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>

#include "findings/rule.h"
#include "lint/lint.h"

namespace aliquot::lint {
namespace {

namespace fs = std::filesystem;

const fs::path kCases = ALIQUOT_SOURCE_DIR "/src/lint/cases";

std::string bytes_of(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

bool is_companion(const fs::path& path) {
    const std::string name = path.filename().string();
    return name.ends_with(".findings") || name.ends_with(".facts.json");
}

std::vector<fs::path> case_paths() {
    std::vector<fs::path> paths;
    for (const auto& rule : fs::directory_iterator(kCases)) {
        if (!rule.is_directory()) continue;
        for (const auto& entry : fs::directory_iterator(rule.path())) {
            if (!is_companion(entry.path())) paths.push_back(entry.path());
        }
    }
    std::sort(paths.begin(), paths.end());
    return paths;
}

std::string rule_of(const fs::path& path) { return path.parent_path().filename().string(); }
bool is_bad(const fs::path& path) { return path.filename().string().starts_with("bad-"); }

std::vector<findings::Finding> lint_case(const fs::path& path) {
    std::vector<std::unique_ptr<File>> files;
    if (fs::is_directory(path)) {
        for (const auto& entry : fs::recursive_directory_iterator(path)) {
            if (!entry.is_regular_file()) continue;
            files.push_back(
                read_file(fs::relative(entry.path(), path).string(), bytes_of(entry.path())));
        }
    } else {
        files.push_back(read_file(path.filename().string(), bytes_of(path)));
    }
    // bad-aliquot-x.yaml: a configuration that our agent reads.
    for (const auto& file : files)
        file->aliquot = path.filename().string().find("aliquot") != std::string::npos;
    std::optional<Facts> facts;
    const fs::path facts_path = path.string() + ".facts.json";
    if (fs::exists(facts_path)) {
        auto read = read_facts(facts_path.string(), bytes_of(facts_path));
        EXPECT_TRUE(read.ok()) << read.error().message;
        if (read) facts = *std::move(read);
    }
    const Set set(std::move(files));
    return check(set, facts ? &*facts : nullptr, 1);
}

/// "LINE RULE severity", of a directory "FILE:LINE RULE severity": errors, warnings and the case's own rule.
std::string report(const fs::path& path) {
    const bool directory = fs::is_directory(path);
    std::vector<std::string> lines;
    std::ostringstream out;
    for (const auto& one : lint_case(path)) {
        EXPECT_NE(findings::find_rule(one.rule), nullptr)
            << one.rule << " is not in api/findings.yaml";
        if (one.severity == findings::Severity::kInfo && one.rule != rule_of(path)) continue;
        if (directory) out << one.file << ':';
        out << one.line << ' ' << one.rule << ' ' << findings::to_text(one.severity) << '\n';
    }
    return out.str();
}

class LintCase : public testing::TestWithParam<fs::path> {};

TEST_P(LintCase, IsReportedAsExpected) {
    const fs::path path = GetParam();
    const std::string actual = report(path);
    const std::string messages = [&path] {
        std::ostringstream out;
        findings::print_text(out, lint_case(path), Colour::kNever);
        return out.str();
    }();
    if (!is_bad(path)) {
        EXPECT_EQ(actual, "") << messages;
        return;
    }
    const fs::path expected = path.string() + ".findings";
    if (std::getenv("UPDATE_CASES") != nullptr) {  // NOLINT(concurrency-mt-unsafe): one thread
        std::ofstream(expected, std::ios::binary) << actual;
        return;
    }
    EXPECT_EQ(actual, bytes_of(expected)) << messages;
    EXPECT_NE(actual.find(' ' + rule_of(path) + ' '), std::string::npos)
        << "a bad case that its rule does not see";
}

std::string name_of(const testing::TestParamInfo<fs::path>& info) {
    std::string name = rule_of(info.param) + "_" + info.param.filename().string();
    std::replace_if(
        name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
    return name;
}

INSTANTIATE_TEST_SUITE_P(Files, LintCase, testing::ValuesIn(case_paths()), name_of);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(LintCase);

TEST(LintCases, EveryRuleHasABadAndAGoodOne) {
    std::set<std::string> bad;
    std::set<std::string> good;
    for (const fs::path& path : case_paths()) (is_bad(path) ? bad : good).insert(rule_of(path));
    // Of `aliquot config check` alone: it says that a file is no sharing configuration.
    const std::set<std::string> elsewhere{"DPC037"};
    for (const findings::Rule& rule : findings::rules()) {
        const std::string id(rule.id);
        if (rule.tool != "lint" || elsewhere.count(id) != 0) continue;
        EXPECT_TRUE(bad.count(id) != 0) << id << " has no case src/lint/cases/" << id << "/bad-*";
        EXPECT_TRUE(good.count(id) != 0) << id << " has no case src/lint/cases/" << id << "/good-*";
    }
    for (const std::string& id : bad)
        EXPECT_NE(findings::find_rule(id), nullptr) << id << " is not a rule";
}

/// Ids written in the sources: "DPC003" in quotes.
std::set<std::string> ids_in(const std::string& text) {
    std::set<std::string> ids;
    for (std::size_t at = 0; (at = text.find('"', at)) != std::string::npos; ++at) {
        const std::size_t end = text.find('"', at + 1);
        if (end == std::string::npos || end - at > 9) continue;
        const std::string word = text.substr(at + 1, end - at - 1);
        const std::size_t digits = word.find_first_of("0123456789");
        if (digits == std::string::npos || digits < 2 || word.size() != digits + 3) continue;
        if (word.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ") != digits) continue;
        if (word == "GH200" || word == "GB200" || word == "GB300") continue;  // GPUs
        if (word.find_first_not_of("0123456789", digits) == std::string::npos) ids.insert(word);
    }
    return ids;
}

TEST(LintCases, WhatTheCodeReportsIsWhatTheCatalogueHas) {
    std::set<std::string> written;
    for (const char* folder : {"/src/lint", "/src/lint/rules", "/src/sharing"}) {
        for (const auto& entry : fs::directory_iterator(std::string(ALIQUOT_SOURCE_DIR) + folder)) {
            const std::string name = entry.path().filename().string();
            const bool source = name.ends_with(".cpp") || name.ends_with(".h");
            if (!source || name.ends_with("_test.cpp")) continue;
            const auto ids = ids_in(bytes_of(entry.path()));
            written.insert(ids.begin(), ids.end());
        }
    }
    for (const std::string& id : written)
        EXPECT_NE(findings::find_rule(id), nullptr) << id << " is not in api/findings.yaml";
    for (const findings::Rule& rule : findings::rules()) {
        if (rule.tool != "lint") continue;
        EXPECT_TRUE(written.count(std::string(rule.id)) != 0)
            << rule.id << " is reported by nothing";
    }
}

}  // namespace
}  // namespace aliquot::lint
