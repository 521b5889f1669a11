// SPDX-License-Identifier: Apache-2.0
// `aliquot plan --write` and `--undo` as people run them, on files.
#include <gmock/gmock.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>

#include "cli/commands.h"
#include "os/temporary_directory.h"
#include "tests/case_files.h"

namespace aliquot::cli {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

struct Outcome {
    int code = 0;
    std::string text;
};

Outcome plan(std::vector<std::string> words) {
    constexpr auto kCommands = std::to_array<Command>({{"plan", add_plan_command}});
    words.insert(words.begin(), {"aliquot", "plan"});
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    std::ostringstream out;
    auto* const real_out = std::cout.rdbuf(out.rdbuf());
    auto* const real_err = std::cerr.rdbuf(out.rdbuf());
    const int code = run(static_cast<int>(argv.size()), argv.data(), kCommands);
    std::cout.rdbuf(real_out);
    std::cerr.rdbuf(real_err);
    return {code, out.str()};
}

class PlanUndo : public testing::Test {
protected:
    using Picture = std::map<std::string, std::string>;
    [[nodiscard]] Picture picture() const {
        Picture files;
        for (const auto& entry : fs::directory_iterator(place_)) {
            files[entry.path().filename()] = cases::read(entry.path());
        }
        return files;
    }
    void put(const std::string& name, const std::string& text) const {
        std::ofstream(place_ / name, std::ios::binary) << text;
    }
    [[nodiscard]] Outcome write(const std::string& gpu, const std::string& services) const {
        return plan({"--gpu", gpu, "--services", services, "--write", place_});
    }
    [[nodiscard]] Outcome undo(const std::vector<std::string>& more = {}) const {
        std::vector<std::string> words{"--undo", place_};
        words.insert(words.end(), more.begin(), more.end());
        return plan(words);
    }
    os::TemporaryDirectory directory_;
    fs::path place_ = directory_.path();
};

TEST_F(PlanUndo, BringsBackExactlyWhatWasThere) {
    put("sharing.yaml", "version: v1\n# mine\xff\n");
    put("notes.txt", "keep\n");
    const Picture before = picture();
    ASSERT_EQ(write("a2", "2").code, kOk);
    ASSERT_NE(picture(), before);
    const Outcome done = undo();
    EXPECT_EQ(done.code, kOk) << done.text;
    EXPECT_THAT(done.text, HasSubstr("sharing.yaml restored"));
    EXPECT_EQ(picture(), before);
    const Outcome again = undo();
    EXPECT_EQ(again.code, kOk);
    EXPECT_THAT(again.text, HasSubstr("nothing to take back"));
    EXPECT_EQ(picture(), before);
}

TEST_F(PlanUndo, AfterTwoPlansLeadsBackBeforeTheFirst) {
    put("sharing.yaml", "mine\n");
    const Picture before = picture();
    ASSERT_EQ(write("a100-80", "3").code, kOk);
    ASSERT_EQ(write("a2", "2").code, kOk);
    EXPECT_EQ(undo().code, kOk);
    EXPECT_EQ(picture(), before);
}

TEST_F(PlanUndo, DryRunSaysItAndChangesNothing) {
    put("sharing.yaml", "mine\n");
    ASSERT_EQ(write("a2", "2").code, kOk);
    const Picture written = picture();
    const Outcome done = undo({"--dry-run"});
    EXPECT_EQ(done.code, kOk);
    EXPECT_EQ(done.text.find("Dry run"), 0U) << done.text;
    EXPECT_THAT(done.text, HasSubstr("sharing.yaml would be restored"));
    EXPECT_EQ(picture(), written);
}

TEST_F(PlanUndo, RefusesWhatAPersonChangedAndShowsIt) {
    put("sharing.yaml", "mine\n");
    ASSERT_EQ(write("a2", "2").code, kOk);
    const std::string ours = cases::read(place_ / "sharing.yaml");
    put("sharing.yaml", ours + "# by hand\n");
    const Picture changed = picture();
    for (const bool dry : {true, false}) {
        const Outcome refused =
            undo(dry ? std::vector<std::string>{"--dry-run"} : std::vector<std::string>{});
        EXPECT_EQ(refused.code, kFindings);
        EXPECT_THAT(refused.text, HasSubstr("sharing.yaml was changed since the plan wrote it"));
        EXPECT_THAT(refused.text, HasSubstr("+# by hand"));
        EXPECT_THAT(refused.text, Not(HasSubstr("removed\n")));
        EXPECT_EQ(picture(), changed);
    }
    put("sharing.yaml", ours);
    EXPECT_EQ(undo().code, kOk);
    EXPECT_EQ(cases::read(place_ / "sharing.yaml"), "mine\n");
}

TEST_F(PlanUndo, GoesOnWhereAnEarlierRunWasInterrupted) {
    put("sharing.yaml", "mine\n");
    const Picture before = picture();
    ASSERT_EQ(write("a2", "2").code, kOk);
    put("sharing.yaml", "mine\n");  // restored, then it was killed
    EXPECT_EQ(undo().code, kOk);
    EXPECT_EQ(picture(), before);
}

TEST_F(PlanUndo, FollowsALinkAndLeavesIt) {
    const fs::path elsewhere = place_ / "elsewhere";
    fs::create_directory(elsewhere);
    std::ofstream(elsewhere / "real.yaml") << "mine\n";
    const fs::path place = place_ / "plan";
    fs::create_directory(place);
    fs::create_symlink(elsewhere / "real.yaml", place / "sharing.yaml");
    ASSERT_EQ(plan({"--gpu", "a2", "--services", "2", "--write", place}).code, kOk);
    EXPECT_EQ(plan({"--undo", place}).code, kOk);
    EXPECT_TRUE(fs::is_symlink(place / "sharing.yaml"));
    EXPECT_EQ(cases::read(elsewhere / "real.yaml"), "mine\n");
}

TEST_F(PlanUndo, WritesNothingWhereItCouldNotComeBack) {
    fs::create_directory(place_ / "sharing.yaml");
    const Outcome written = write("a2", "2");
    EXPECT_EQ(written.code, kCouldNotRun);
    EXPECT_THAT(written.text, HasSubstr("nothing was written"));
    EXPECT_EQ(std::distance(fs::directory_iterator(place_), fs::directory_iterator()), 1);
}

TEST_F(PlanUndo, RefusesARecordThatLeadsElsewhere) {
    put(".aliquot-plan.json",
        R"({"schemaVersion":1,"files":[{"name":"../x","text":"","before":null}],"workloads":[]})");
    const Outcome refused = undo();
    EXPECT_EQ(refused.code, kUsage);
    EXPECT_THAT(refused.text, HasSubstr(".aliquot-plan.json: '../x'"));
}

TEST_F(PlanUndo, WantsADirectoryAndNoPlan) {
    EXPECT_EQ(plan({"--undo", place_ / "absent"}).code, kUsage);
    EXPECT_EQ(undo({"--gpu", "a2"}).code, kUsage);
    EXPECT_EQ(plan({"--gpu", "a2", "--dry-run"}).code, kUsage);
}

TEST_F(PlanUndo, TellsOfWorkloadsUntilTheClusterWasAsked) {
    const fs::path services = place_ / "services.yaml";
    std::ofstream(services) << "[{name: kokoro, memory: 2Gi}, {name: whisper, memory: 5Gi}]\n";
    const fs::path place = place_ / "plan";
    ASSERT_EQ(plan({"--gpu", "a2", "--workloads", services, "--write", place}).code, kOk);
    for (int i = 0; i < 2; ++i) {
        const Outcome done = plan({"--undo", place});
        EXPECT_EQ(done.code, kOk);
        EXPECT_THAT(done.text, HasSubstr("kokoro, whisper"));
        EXPECT_THAT(done.text, HasSubstr("--cluster"));
        EXPECT_FALSE(fs::exists(place / "sharing.yaml"));
    }
}

}  // namespace
}  // namespace aliquot::cli
