// SPDX-License-Identifier: Apache-2.0
//
// `aliquot` on disks that are full, broken or read-only: each call that writes fails once.
#include <gmock/gmock.h>
#include <sys/wait.h>

#include <cstring>
#include <map>
#include <nlohmann/json.hpp>

#include "tests/faults/faulted_process.h"

namespace aliquot::faults {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kJob =
    "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n  - name: c\n"
    "    image: example.com/x:1\n    resources:\n      requests: {nvidia.com/gpu: \"1\"}\n";

/// What a command writes: before, and after when all went well.
struct Case {
    std::string name;
    std::string words;    // after "aliquot"; WORK is the directory
    std::string before;   // the one file that is there: NAME=TEXT; empty: none
    bool varies = false;  // JSON with what changes from run to run
    std::string under{};  // where calls fail; empty: everywhere in WORK
};

class CommandFaults : public testing::TestWithParam<Case> {
protected:
    [[nodiscard]] fs::path work() const { return directory_.path() / "work"; }

    [[nodiscard]] fs::path under() const {
        return GetParam().under.empty() ? work() : work() / GetParam().under;
    }

    void prepare() const {
        fs::remove_all(work());
        fs::create_directories(under());
        const std::string& before = GetParam().before;
        if (before.empty()) return;
        const auto equals = before.find('=');
        const auto file = work() / before.substr(0, equals);
        fs::create_directories(file.parent_path());
        std::ofstream(file) << before.substr(equals + 1);
    }
    /// Its exit code; -1: a signal ended it.
    int run(const Fault& fault) {
        fs::remove(directory_.path() / "log");
        fs::remove(directory_.path() / "output");
        std::string words = GetParam().words;
        for (auto at = words.find("WORK"); at != std::string::npos; at = words.find("WORK"))
            words.replace(at, 4, work().native());
        auto process = os::Process::start(with_fault(
            {"sh", "-c", "cd " + work().native() + " && exec " ALIQUOT_BIN_DIR "/aliquot " + words},
            under(), directory_.path() / "log", fault, directory_.path() / "output"));
        EXPECT_TRUE(process) << process.error().message;
        const auto exit = process->wait(std::chrono::seconds(60));
        output_ = text_of(directory_.path() / "output");
        return exit && exit->signal == 0 ? exit->code : -1;
    }
    [[nodiscard]] std::map<std::string, std::string> files() const {
        std::map<std::string, std::string> texts;
        for (const auto& entry : fs::recursive_directory_iterator(work()))
            if (entry.is_regular_file())
                texts[entry.path().lexically_relative(work())] = text_of(entry.path());
        return texts;
    }

    using Files = std::map<std::string, std::string>;
    static bool is_whole(const std::string& name, const std::string& text, const Files& after) {
        const auto whole = after.find(name);
        if (whole == after.end()) return false;
        return whole->second == text || (GetParam().varies && nlohmann::json::accept(text));
    }

    os::TemporaryDirectory directory_;
    std::string output_;
};

TEST_P(CommandFaults, EachCallThatWritesFailsOnceAndNothingIsHalfMade) {
    prepare();
    const auto before = files();
    const int clean = run({});
    ASSERT_TRUE(clean == 0 || clean == 1) << output_;
    const auto after = files();
    ASSERT_NE(before, after);
    const auto calls = lines_of(directory_.path() / "log");
    ASSERT_GT(calls.size(), 4U);
    for (const Fault& fault : faults_for(calls)) {
        SCOPED_TRACE(fault.text() + " " + calls[fault.number - 1]);
        prepare();
        const int code = run(fault);
        EXPECT_THAT(left_over(work()), ElementsAre());
        for (const auto& [name, text] : files()) {
            const auto old = before.find(name);
            const bool is_old = old != before.end() && old->second == text;
            EXPECT_TRUE(is_old || is_whole(name, text, after))
                << name << " is half made: " << text.size() << " bytes";
        }
        if (code == clean) {
            for (const auto& [name, text] : after)
                EXPECT_TRUE(is_whole(name, files()[name], after))
                    << "lost without a word: " << output_;
            continue;
        }
        EXPECT_EQ(code, 3) << output_;
        EXPECT_THAT(output_, HasSubstr(::strerror(fault.error)));
    }
}

INSTANTIATE_TEST_SUITE_P(
    Files, CommandFaults,
    testing::Values(Case{"plan", "plan --gpu a2 --services 4 --write WORK/plan", ""},
                    Case{"lint_report", "lint -o json=WORK/report.json WORK/pod.yaml",
                         std::string("pod.yaml=") + kJob},
                    Case{"lint_fix", "lint --fix WORK/pod.yaml", std::string("pod.yaml=") + kJob},
                    Case{"lint_init", "lint --init", ""},
                    Case{"doctor_save", "doctor host --root WORK --save WORK/out/facts.json",
                         "etc/hostname=x", true, "out"}),
    [](const auto& one) { return one.param.name; });

/// Standard output: where the disk is full, also after many blocks, it is told; a reader that left is not.
class StandardOutputFaults : public testing::Test {
protected:
    static int run(const std::string& line, std::string* errors) {
        os::TemporaryDirectory directory;
        auto process = os::Process::start({.argv = {"sh", "-c", line},
                                           .environment = os::current_environment(),
                                           .output_path = directory.path() / "output"});
        EXPECT_TRUE(process) << process.error().message;
        const auto exit = process->wait(std::chrono::seconds(60));
        *errors = text_of(directory.path() / "output");
        return exit && exit->signal == 0 ? exit->code : -1;
    }
};

TEST_F(StandardOutputFaults, AFullDiskIsOneLineAndCode3) {
    // The last one writes far more than one buffer.
    for (const char* const words : {"--version", "plan --help", "install -o yaml"}) {
        std::string errors;
        EXPECT_EQ(run(std::string(ALIQUOT_BIN_DIR "/aliquot ") + words + " >/dev/full", &errors), 3)
            << words;
        EXPECT_EQ(errors, "aliquot: cannot write the output: No space left on device\n") << words;
    }
}

TEST_F(StandardOutputFaults, AReaderThatHasSeenEnoughIsNoError) {
    std::string errors;
    EXPECT_EQ(
        run("{ " ALIQUOT_BIN_DIR "/aliquot install -o yaml; echo code $? >&2; } | true", &errors),
        0);
    EXPECT_EQ(errors, "code 0\n");
}

}  // namespace
}  // namespace aliquot::faults
