// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <sstream>
#include <string>
#include <utility>

#include "bundle/tree.h"
#include "doctor/check.h"
#include "doctor/fix.h"
#include "doctor/judge.h"
#include "doctor/report.h"
#include "document/path.h"
#include "findings/rule.h"
#include "os/root.h"

namespace aliquot::doctor {
namespace {

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

TEST(Reports, AreMarkdownInWhichNamesAreNothingButText) {
    Report report;
    report.title = "gpu-1 <img src=x onerror=alert(1)>";
    report.checks.push_back(
        {.id = "DRV003",
         .verdict = {
             .outcome = Outcome::kFailed,
             .message = "pod `a`|**b** [here](http://x) <script>&amp; __init__\n# more",
             .fixes = {{.kind = Fix::Kind::kCommand, .text = "echo '\n```\n<b>\x1b[31m'\n  done"},
                       {.kind = Fix::Kind::kNote, .text = "see <a href='x'>"}}}});
    report.root_causes = {"DRV003"};
    std::ostringstream out;
    print_markdown(out, report);
    const std::string pod =
        R"(pod \`a\`\|\*\*b\*\* \[here\](http://x) &lt;script&gt;&amp;amp; \_\_init\_\_ \# more)";
    EXPECT_EQ(out.str(),
              "## doctor: gpu-1 &lt;img src=x onerror=alert(1)&gt;\n\n"
              "**Root cause: DRV003.** " +
                  pod +
                  "\n\n````sh\necho '\n```\n<b> [31m'\n  done\n````\n\n"
                  "see &lt;a href='x'&gt;\n\n"
                  "| check | result | finding |\n|---|---|---|\n"
                  "| DRV003 | failed | " +
                  pod + " |\n");
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

Judged told(const char* id, Verdict verdict) { return {.id = id, .verdict = std::move(verdict)}; }

TEST(FirstWarning, IsOneThatTellsMoreThanAdvice) {
    Report report;
    report.checks = {told("DRV001", ok("")), told("DRV010", warning("an old branch")),
                     told("DRV011", warning("persistence mode is off"))};
    ASSERT_NE(report.first_warning(), nullptr);
    EXPECT_EQ(report.first_warning()->id, "DRV011");
    report.checks.push_back(told("PERF001", warning("GPU 0 is throttled.")));
    report.checks.push_back(told("PERF010", warning("a narrow link")));
    EXPECT_EQ(report.first_warning()->id, "PERF001");
    std::ostringstream text;
    print_text(text, report, {});
    EXPECT_NE(text.str().find("Nothing failed; look first at PERF001. GPU 0 is throttled."),
              std::string::npos)
        << text.str();
    report.checks.push_back(told("NVML003", failed("a GPU fell off the bus")));
    EXPECT_EQ(report.first_warning(), nullptr);
}

TEST(FirstWarning, IsNoneWhereAllIsWell) {
    Report report;
    report.checks = {told("DRV001", ok(""))};
    EXPECT_EQ(report.first_warning(), nullptr);
}

/// The module is 580.95.05; the library may be newer or older, the file of the module may be known.
std::string version_message(const std::string& library, const std::string& modinfo) {
    bundle::Tree tree;
    tree.add_text("proc/driver/nvidia/version",
                  "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.95.05  x\n");
    tree.add_text("usr/lib64/libnvidia-ml.so." + library, "");
    if (!modinfo.empty()) tree.add_text("cmd/modinfo.txt", "version:        " + modinfo + "\n");
    tree.add_text("cmd/nvml.json", R"({"error":18,"message":"Driver/library version mismatch"})");
    const Report report = judge(facts_of(std::move(tree), {Target::Kind::kHost}));
    const Judged* const found = report.find("NVML001");
    return found == nullptr ? "" : found->verdict.message;
}

TEST(Versions, ThatDifferForEverAreNotSaidToWantAReboot) {
    EXPECT_TRUE(version_message("590.44.01", "").contains("upgraded without a reboot"));
    EXPECT_TRUE(version_message("590.44.01", "590.44.01").contains("upgraded without a reboot"));
    EXPECT_TRUE(version_message("570.172.08", "570.172.08").contains("without a reboot"));
    EXPECT_TRUE(version_message("570.172.08", "").contains("two installations"));
    EXPECT_TRUE(version_message("590.44.01", "580.95.05").contains("two installations"));
}

/// A GPU asks for a reset; the kernel log may say why.
std::string reset_message(const std::string& log) {
    bundle::Tree tree;
    tree.add_text("proc/driver/nvidia/version",
                  "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.95.05  x\n");
    tree.add_text("cmd/dmesg.txt", log);
    tree.add_text("cmd/nvml.json",
                  R"({"driver":"580.95.05","gpus":[{"index":0,"uuid":"GPU-1","name":"NVIDIA A100",)"
                  R"("address":"0000:17:00.0","recovery_action":"GPU Reset"}]})");
    const Report report = judge(facts_of(std::move(tree), {Target::Kind::kHost}));
    const Judged* const reset = report.find("NVML004");
    return reset == nullptr ? "" : reset->verdict.message;
}

TEST(Reset, IsToldWithTheErrorThatLedToIt) {
    EXPECT_NE(reset_message("[1.0] NVRM: Xid (PCI:0000:17:00): 63, pid=1, x\n"
                            "[1.1] NVRM: Xid (PCI:0000:17:00): 48, pid=1, DBE\n")
                  .find("needs a reset (Xid 48, double-bit ECC error)"),
              std::string::npos);
    EXPECT_NE(reset_message("[1.1] NVRM: Xid (PCI:0000:27:00): 48, pid=1, DBE\n")
                  .find("needs a reset (a row remapping is pending"),
              std::string::npos)
        << "another GPU's error";
}

}  // namespace
}  // namespace aliquot::doctor
