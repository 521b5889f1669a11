// SPDX-License-Identifier: Apache-2.0
#include "lint/lint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "lint/fix.h"
#include "lint/report.h"
#include "lint/settings.h"

namespace aliquot::lint {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

TEST(Settings, NameRulesPathsAndFacts) {
    const auto settings = read_settings(".aliquot.yaml",
                                        "rules: {DPC014: warning, DPC018: off}\npaths:\n  ignore: "
                                        "[docs/old, '*.tpl']\nfacts: a.json\n");
    ASSERT_TRUE(settings.ok());
    EXPECT_EQ(settings->facts, "a.json");
    EXPECT_EQ(settings->rules.at("DPC014"), findings::Severity::kWarning);
    EXPECT_EQ(settings->rules.at("DPC018"), std::nullopt);
    EXPECT_TRUE(is_ignored(*settings, "docs/old/a/b.md"));
    EXPECT_TRUE(is_ignored(*settings, "./charts/x.tpl"));
    EXPECT_FALSE(is_ignored(*settings, "docs/older.md"));
}

TEST(Settings, RefuseWhatIsUnknown) {
    for (const char* text : {"rules: {XYZ999: off}\n", "rules: {DPC014: loud}\n", "colour: red\n",
                             "plugin: amd\n", "paths: {only: []}\n", "a: [\n"}) {
        const auto settings = read_settings(".aliquot.yaml", text);
        ASSERT_FALSE(settings.ok()) << text;
        EXPECT_THAT(settings.error().message, HasSubstr(".aliquot.yaml:1")) << text;
    }
}

TEST(Settings, TheTemplateIsValid) { EXPECT_TRUE(read_settings("t", settings_template()).ok()); }

TEST(Settings, ChangeTheSeverityOrTakeTheFindingOut) {
    std::vector<findings::Finding> all(2);
    all[0].rule = "DPC014";
    all[1].rule = "DPC018";
    Settings settings;
    settings.rules["DPC014"] = findings::Severity::kError;
    settings.rules["DPC018"] = std::nullopt;
    apply_settings(settings, all);
    ASSERT_THAT(all, SizeIs(1));
    EXPECT_EQ(all.front().severity, findings::Severity::kError);
}

TEST(Fix, MakesTheEditsOfOneFindingTogetherOrNotAtAll) {
    std::vector<findings::Finding> all(3);
    all[0].edits = {{0, 1, "A"}, {4, 1, "E"}};
    all[1].edits = {{2, 1, "C"}, {4, 1, "x"}};  // the second one is taken
    all[2].edits = {{100, 1, "x"}};             // not in the file
    const Fixed fixed = apply_fixes("abcdef", all);
    EXPECT_EQ(fixed.text, "AbcdEf");
    EXPECT_EQ(fixed.fixed, std::vector<std::size_t>{0});
}

TEST(Diff, ShowsHunksWithContext) {
    EXPECT_EQ(unified_diff("f", "a\nb\nc\nd\ne\n", "a\nb\nX\nd\ne\n"),
              "--- f\n+++ f\n@@ -1,5 +1,5 @@\n a\n b\n-c\n+X\n d\n e\n");
    EXPECT_EQ(unified_diff("f", "a\n", "a\n"), "");
    EXPECT_EQ(unified_diff("f", "a\nb", "a\n"),
              "--- f\n+++ f\n@@ -1,2 +1,1 @@\n a\n-b\n\\ No newline at end of file\n");
}

std::vector<findings::Finding> report_at(const std::string& name, const std::string& text,
                                         std::initializer_list<unsigned> lines) {
    const auto file = read_file(name, text);
    Report report(*file);
    for (const unsigned line : lines) report.add("POD014", {line, 1}, "no tag");
    return report.take();
}

TEST(Ignore, ACommentCoversItsLineAndAnOwnLineTheNextOne) {
    const std::string text =
        "a: b  # aliquot:ignore POD014 pinned elsewhere\n# aliquot:ignore POD014, DPC014: "
        "why\nc:\n  d: e\nf: g\n";
    const auto found = report_at("a.yaml", text, {1, 3, 4, 5});
    ASSERT_THAT(found, SizeIs(1));
    EXPECT_EQ(found.front().line, 5U);
}

TEST(Ignore, AHtmlCommentCoversTheNextBlock) {
    const std::string text = "<!-- aliquot:ignore POD014 -->\n\n```bash\nls\nls -l\n```\nx\n";
    const auto found = report_at("a.md", text, {4, 5, 7});
    ASSERT_THAT(found, SizeIs(1));
    EXPECT_EQ(found.front().line, 7U);
}

TEST(Ignore, AnAnnotationCoversItsObject) {
    const std::string text =
        "apiVersion: v1\nkind: Pod\nmetadata:\n  annotations:\n    lint.aliquot/ignore: \"POD014: "
        "a mirror\"\nspec: {a: b}\n---\n"
        "apiVersion: v1\nkind: Pod\nmetadata: {name: b}\n";
    const auto found = report_at("a.yaml", text, {2, 6, 9});
    ASSERT_THAT(found, SizeIs(1));
    EXPECT_EQ(found.front().line, 9U);
}

TEST(Ignore, OtherRulesAreStillTold) {
    EXPECT_THAT(report_at("a.yaml", "a: b  # aliquot:ignore DPC014\n", {1}), SizeIs(1));
    EXPECT_THAT(report_at("a.yaml", "# aliquot:ignore-file POD014\na: b\n", {2}), IsEmpty());
}

TEST(Set, ALabelOfOneFileInAHeapOfFilesIsNotAnothersLabel) {
    const auto told = [](int others) {
        std::vector<std::unique_ptr<File>> files;
        files.push_back(read_file("heap/pod.yaml",
                                  "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n"
                                  "  nodeSelector: {gpu.kind: a100}\n  containers:\n"
                                  "  - {name: c, image: \"x:1\", resources: {limits: "
                                  "{nvidia.com/gpu: 1}}}\n"));
        files.push_back(read_file("heap/main.tf", "labels = {\n  \"gpu.kind\" = \"a100\"\n}\n"));
        for (int i = 0; i < others; ++i) {
            files.push_back(read_file("heap/" + std::to_string(i) + ".yaml", "a: 1\n"));
        }
        const Set set(std::move(files));
        const auto findings = check(set, nullptr, 1);
        return std::count_if(findings.begin(), findings.end(),
                             [](const auto& one) { return one.rule == "POD015"; });
    };
    EXPECT_EQ(told(0), 0);
    EXPECT_EQ(told(120), 1);
}

TEST(Facts, AreWhatKubectlPrints) {
    const auto facts = read_facts(
        "nodes.json", R"({"kind":"List","items":[{"kind":"Node","metadata":{"name":"a","labels":
      {"nvidia.com/gpu.product":"Tesla-T4","nvidia.com/gpu.memory":"15360","nvidia.com/gpu.compute.major":"7",
       "nvidia.com/gpu.compute.minor":"5"}},"spec":{"taints":[{"key":"nvidia.com/gpu","effect":"NoSchedule"}]},
      "status":{"allocatable":{"nvidia.com/gpu":"2","cpu":"3920m"}}},{"kind":"RuntimeClass","metadata":{"name":"nvidia"}}]})");
    ASSERT_TRUE(facts.ok()) << facts.error().message;
    ASSERT_THAT(facts->nodes, SizeIs(1));
    EXPECT_EQ(facts->nodes.front().compute_capability, 7.5);
    EXPECT_DOUBLE_EQ(facts->nodes.front().allocatable.at("cpu"), 3.92);
    EXPECT_DOUBLE_EQ(facts->total("nvidia.com/gpu"), 2);
    EXPECT_EQ(facts->runtime_classes.count("nvidia"), 1U);
    EXPECT_FALSE(read_facts("x", "kind: Pod\n").ok());
}

}  // namespace
}  // namespace aliquot::lint
