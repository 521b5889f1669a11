// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <string>

#include "doctor/check.h"
#include "doctor/fix.h"
#include "doctor/judge.h"
#include "doctor/toml.h"
#include "document/path.h"
#include "findings/rule.h"
#include "os/root.h"

namespace aliquot::doctor {
namespace {

TEST(Toml, ReadsWhatContainerRuntimesWrite) {
    const Toml toml = parse_toml(
        "version = 2\nimports = [\n  \"a\", # why\n  'b',\n]\n"
        "[plugins.\"io.containerd.grpc.v1.cri\".containerd]\n  default_runtime_name = \"nvidia\"\n"
        "[[x]]\na.b = {c = 1}\n{{ template \"base\" . }}\nbroken\nlast = true\n");
    EXPECT_EQ(text_at(toml.root, {"version"}), "2");
    EXPECT_EQ(items_at(toml.root, {"imports"}).size(), 2U);
    const Value* const name = at_path(
        toml.root, {"plugins", "io.containerd.grpc.v1.cri", "containerd", "default_runtime_name"});
    ASSERT_NE(name, nullptr);
    EXPECT_EQ(name->scalar, "nvidia");
    EXPECT_EQ(name->mark.line, 7U);
    ASSERT_EQ(items_at(toml.root, {"x"}).size(), 1U);
    EXPECT_EQ(text_at(items_at(toml.root, {"x"})[0], {"a", "b", "c"}), "1");
    EXPECT_EQ(text_at(items_at(toml.root, {"x"})[0], {"last"}), "true");
    EXPECT_EQ(toml.problems.size(), 2U);
}

TEST(Toml, StopsAtATableThatNobodyWrote) {
    std::string text;
    for (int i = 0; i < 3'000; ++i) text += "[t" + std::to_string(i) + "]\nk = 1\n";
    const Toml toml = parse_toml(text);
    EXPECT_EQ(toml.root.entries.size(), 2'000U);
    ASSERT_EQ(toml.problems.size(), 1U);
    EXPECT_TRUE(toml.problems[0].message.contains("keys in one table"));
}

TEST(Checks, HaveAnEntryInTheCatalogueAndACaseEach) {
    std::set<std::string> ids;
    for (const Check& check : all_checks()) {
        const std::string id(check.id);
        EXPECT_TRUE(ids.insert(id).second) << id << " stands twice";
        const auto* const rule = findings::find_rule(id);
        EXPECT_TRUE(rule != nullptr && rule->tool == "doctor")
            << id << " is not in api/findings.yaml";
        EXPECT_TRUE(std::filesystem::exists(ALIQUOT_SOURCE_DIR "/src/doctor/cases/" + id + ".case"))
            << id << " has no case";
    }
    for (const findings::Rule& rule : findings::rules()) {
        if (rule.tool != "doctor") continue;
        EXPECT_TRUE(ids.contains(std::string(rule.id))) << rule.id;
    }
}

TEST(Fixes, WriteOnlyWhatIsSafeAndShowIt) {
    Tree tree;
    tree.complete = true;
    tree.add_text("/proc/modules", "nouveau 1 0 - Live 0x0\n");
    tree.add("/sys/bus/pci/devices/0000:01:00.0/driver",
             {.kind = Entry::Kind::kLink, .content = "../drivers/nouveau"});
    tree.add_text("/sys/bus/pci/devices/0000:01:00.0/vendor", "0x10de\n");
    tree.add_text("/sys/bus/pci/devices/0000:01:00.0/class", "0x030200\n");
    const Facts facts = facts_of(tree, {});
    const Report report = judge(facts);
    EXPECT_EQ(report.root_causes, std::vector<std::string>{"DRV003"});
    const auto fixes = safe_fixes(report, facts);
    ASSERT_EQ(fixes.size(), 1U);
    EXPECT_EQ(fixes[0].path, "/etc/modprobe.d/aliquot-nouveau.conf");
    EXPECT_TRUE(show(fixes[0]).contains("+blacklist nouveau\n")) << show(fixes[0]);
}

TEST(Fixes, LeaveAFileAloneThatChangedMeanwhile) {
    const auto done = apply({.id = "X", .path = "/etc/hostname", .before = "something else"},
                            os::Root("/nowhere"));
    EXPECT_FALSE(done);
}

}  // namespace
}  // namespace aliquot::doctor
