// SPDX-License-Identifier: Apache-2.0
//
// `aliquot doctor` as a user has it.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "os/spawner.h"
#include "os/temporary_directory.h"

namespace aliquot {
namespace {

constexpr std::chrono::seconds kLimit{60};

class DoctorProgram : public ::testing::Test {
protected:
    Result<os::Process> start(std::vector<std::string> words,
                              const std::filesystem::path& output) const {
        words.insert(words.begin(), ALIQUOT_BIN_DIR "/aliquot");
        auto environment = os::current_environment();
        environment.erase("ALIQUOT_SIM_STATE");
        if (!node_.empty()) environment["ALIQUOT_SIM_STATE"] = node_;
        environment.erase("KUBECONFIG");
        environment["HOME"] = temporary_.path().native();
        return os::Process::start({.argv = std::move(words),
                                   .environment = std::move(environment),
                                   .output_path = output.native()});
    }

    /// Runs `aliquot WORDS`; returns what it printed. code_ is its exit code.
    std::string run(std::vector<std::string> words) {
        std::filesystem::remove(output_);
        auto process = start(std::move(words), output_);
        EXPECT_TRUE(process);
        if (!process) return {};
        const auto exit = process->wait(kLimit);
        EXPECT_TRUE(exit);
        code_ = exit ? exit->code : -1;
        std::ifstream file(output_);
        return {std::istreambuf_iterator<char>(file), {}};
    }

    void write(const std::string& path, const std::string& text) const {
        const auto file = tree_ / path;
        std::filesystem::create_directories(file.parent_path());
        std::ofstream(file) << text;
    }

    void make_nouveau() const {
        write("proc/modules", "nouveau 3000000 1 - Live 0x0\n");
        write("sys/bus/pci/devices/0000:01:00.0/vendor", "0x10de\n");
        write("sys/bus/pci/devices/0000:01:00.0/class", "0x030200\n");
        write("sys/bus/pci/devices/0000:01:00.0/device", "0x25b6\n");
    }

    os::TemporaryDirectory temporary_;
    std::filesystem::path tree_ = temporary_.path() / "host tree";
    std::filesystem::path output_ = temporary_.path() / "output";
    std::string node_;  // a simulated one that the programs see; empty: none
    int code_ = 0;
};

/// JSON as one line.
std::string without_blanks(std::string text) {
    std::erase_if(text, [](char c) { return c == ' ' || c == '\n'; });
    return text;
}

TEST_F(DoctorProgram, NamesOneRootCauseWhereverItsOptionsStand) {
    make_nouveau();
    const auto text = run({"doctor", "--root", tree_.native(), "host", "-o", "json"});
    EXPECT_EQ(code_, 1) << text;
    EXPECT_TRUE(without_blanks(text).contains("\"rootCauses\":[\"DRV003\"]")) << text;
    EXPECT_EQ(run({"doctor", "host", "-o", "json", "--root", tree_.native()}), text);
    const auto plain = run({"doctor", "host", "--root", tree_.native()});
    EXPECT_TRUE(plain.contains("Root cause: DRV003. nouveau holds the GPU")) << plain;
    EXPECT_TRUE(plain.contains("[xx] DRV003")) << plain;
    EXPECT_LT(plain.find("Root cause"), plain.find("[xx] DRV003")) << plain;
    EXPECT_TRUE(plain.contains("kernel driver FAILED > user libraries not judged")) << plain;
    EXPECT_FALSE(plain.contains("[ok]")) << plain;
    EXPECT_TRUE(run({"doctor", "host", "--root", tree_.native(), "-v"}).contains("[ok]"));
}

TEST_F(DoctorProgram, JudgesASavedBundleAsTheHostWas) {
    make_nouveau();
    const auto bundle = (temporary_.path() / "node.tgz").native();
    const auto facts = (temporary_.path() / "node.json").native();
    const auto first = run({"doctor", "host", "--root", tree_.native(), "-o", "short"});
    (void)run({"doctor", "host", "--root", tree_.native(), "--save", bundle});
    (void)run({"doctor", "host", "--root", tree_.native(), "--save", facts});
    EXPECT_EQ(run({"doctor", "--bundle", bundle, "host", "-o", "short"}), first);
    EXPECT_EQ(code_, 1);
    EXPECT_EQ(run({"doctor", "--facts", facts, "host", "-o", "short"}), first);
}

TEST_F(DoctorProgram, WritesTheSafeMendAfterShowingIt) {
    make_nouveau();
    const auto text = run({"doctor", "host", "--root", tree_.native(), "--fix", "--yes"});
    EXPECT_TRUE(text.contains("+blacklist nouveau")) << text;
    EXPECT_TRUE(std::filesystem::exists(tree_ / "etc/modprobe.d/aliquot-nouveau.conf"));
    const auto again = run({"doctor", "host", "--root", tree_.native(), "--fix", "--yes"});
    EXPECT_TRUE(again.contains("aliquot-nouveau.conf says so already; still to do:")) << again;
}

TEST_F(DoctorProgram, KnowsWhatWasCutOffAndWhoIsNotThere) {
    make_nouveau();
    const auto bundle = (temporary_.path() / "node.tgz").native();
    (void)run({"doctor", "host", "--root", tree_.native(), "--save", bundle});
    std::filesystem::resize_file(bundle, std::filesystem::file_size(bundle) / 2);
    const auto cut = run({"doctor", "--bundle", bundle, "host", "-o", "short"});
    EXPECT_TRUE(cut.contains("ends in the middle") || code_ == 2) << cut;
    write("k8s/nodes.json",
          R"({"kind":"List","items":[{"kind":"Node","metadata":{"name":"gpu-1"}}]})");
    const auto wrong = run({"doctor", "--root", tree_.native(), "node", "gpu-2"});
    EXPECT_EQ(code_, 2);
    EXPECT_TRUE(wrong.contains("did you mean 'gpu-1'?")) << wrong;
    (void)run({"doctor", "--root", tree_.native(), "node", "gpu-1"});
    EXPECT_EQ(code_, 1);
}

TEST_F(DoctorProgram, ExplainsItsChecksAndRefusesWrongWords) {
    EXPECT_TRUE(run({"doctor", "--explain", "drv003"}).contains("nouveau holds the GPU"));
    EXPECT_EQ(code_, 0);
    (void)run({"doctor", "--explain", "DRV999"});
    EXPECT_EQ(code_, 2);
    EXPECT_TRUE(run({"doctor", "hots"}).contains("did you mean 'host'?"));
    EXPECT_EQ(code_, 2);
    (void)run({"doctor", "host", "--root", (temporary_.path() / "nowhere").native()});
    EXPECT_EQ(code_, 2);
}

TEST_F(DoctorProgram, LooksAtThisMachineWithoutRoot) {
    const auto text = run({"doctor", "host", "-o", "json"});
    EXPECT_TRUE(code_ == 0 || code_ == 1) << text;
    EXPECT_TRUE(without_blanks(text).contains("\"target\":{\"kind\":\"Host\"")) << text;
}

TEST_F(DoctorProgram, FindsASimulatedNodeWell) {
    const auto node = (temporary_.path() / "node").native();
    (void)run({"sim", "up", "--gpu", "a2", "--state", node});
    ASSERT_EQ(code_, 0);
    const auto text = run({"doctor", "host", "--root", node, "-o", "short"});
    EXPECT_EQ(code_, 0) << text;
    (void)run({"sim", "down", "--state", node});
}

TEST_F(DoctorProgram, SaysWhatHoldsAProcessBack) {
    const auto node = (temporary_.path() / "node").native();
    (void)run({"sim", "up", "--gpu", "h100-80", "--state", node});
    ASSERT_EQ(code_, 0);
    node_ = node;
    const auto use = [&](const char* percent) {
        return start({"sim", "use", "--sm", percent, "--memory", "2Gi"}, temporary_.path() / "use");
    };
    auto first = use("90");
    ASSERT_TRUE(first);
    const auto pid = std::to_string(first->pid());
    std::string told;
    const auto comes_to = [&](const std::string& cause) {
        const auto end = std::chrono::steady_clock::now() + kLimit;
        while (std::chrono::steady_clock::now() < end) {
            told = run({"doctor", "--pid", pid, "--slow-seconds", "1"});
            if (code_ == 0 && told.contains(cause)) return true;
        }
        return false;
    };
    EXPECT_TRUE(comes_to("Nothing that was measured holds it back")) << told;
    {
        auto second = use("60");
        ASSERT_TRUE(second);
        EXPECT_TRUE(comes_to("Root cause: PERF007")) << told;
        EXPECT_TRUE(told.contains("process " + std::to_string(second->pid()))) << told;
        second->terminate(kLimit);
    }
    (void)run({"sim", "fault", "throttle", "--gpu", "0"});
    EXPECT_TRUE(comes_to("Root cause: PERF001")) << told;
    (void)run({"sim", "fault", "clear", "--gpu", "0"});
    (void)run({"sim", "fault", "link-width", "1", "--gpu", "0"});
    EXPECT_TRUE(comes_to("Root cause: PERF010")) << told;
    first->terminate(kLimit);
    const auto nobody = run({"doctor", "--pid", pid, "--slow-seconds", "1"});
    EXPECT_EQ(code_, 2);
    EXPECT_TRUE(nobody.contains("uses no GPU of this host; processes that do: none")) << nobody;
    (void)run({"sim", "down", "--state", node});
}

}  // namespace
}  // namespace aliquot
