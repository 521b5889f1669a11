// SPDX-License-Identifier: Apache-2.0
//
// `aliquot sim` as a user has it: programs in a shell that share one node.
#include <gtest/gtest.h>
#include <signal.h>

#include <fstream>
#include <string>

#include "os/spawner.h"
#include "os/temporary_directory.h"
#include "sim/node/node.h"

namespace aliquot {
namespace {

constexpr std::chrono::seconds kLimit{60};

class SimProgram : public ::testing::Test {
protected:
    void TearDown() override { (void)run("sim down --state " + quoted_); }

    os::Process start(const std::string& script) {
        auto process = os::Process::start({.argv = {"sh", "-c", script},
                                           .environment = environment(),
                                           .output_path = output_.native()});
        EXPECT_TRUE(process) << process.error().message;
        return *std::move(process);
    }

    /// Runs a shell line in which `aliquot` is ours; returns what it printed. code_ is its exit code.
    std::string shell(const std::string& script) {
        std::filesystem::remove(output_);
        auto process = start(script);
        const auto exit = process.wait(kLimit);
        EXPECT_TRUE(exit) << script;
        code_ = exit ? exit->code : -1;
        return output();
    }
    std::string run(const std::string& words) { return shell("aliquot " + words); }

    [[nodiscard]] std::string output() const {
        std::ifstream file(output_);
        return {std::istreambuf_iterator<char>(file), {}};
    }

    static std::map<std::string, std::string> environment() {
        auto values = os::current_environment();
        values["PATH"] = std::string(ALIQUOT_BIN_DIR ":") + values["PATH"];
        values.erase("ALIQUOT_SIM_STATE");
        values.erase("LD_LIBRARY_PATH");
        return values;
    }

    os::TemporaryDirectory temporary_;
    std::filesystem::path state_ = temporary_.path() / "a node's $state";
    std::filesystem::path output_ = temporary_.path() / "output";
    std::string quoted_ = "\"" + temporary_.path().native() + "/a node's \\$state\"";
    int code_ = 0;
};

TEST_F(SimProgram, ShowsItsGpusToAnyProgramOfTheShell) {
    EXPECT_TRUE(run("sim up --gpu a2 --state " + quoted_).contains("GPU 0: NVIDIA A2"));
    ASSERT_EQ(code_, 0) << output();
    const auto list = shell("eval \"$(aliquot sim env --state " + quoted_ + ")\" && nvidia-smi -L");
    EXPECT_EQ(code_, 0) << list;
    EXPECT_TRUE(list.starts_with("GPU 0: NVIDIA A2 (UUID: GPU-")) << list;
    EXPECT_TRUE(run("sim fault lost --state " + quoted_).contains("GPU 0: lost"));
    EXPECT_TRUE(shell("eval \"$(aliquot sim env --state " + quoted_ + ")\" && nvidia-smi -L")
                    .contains("GPU is lost"));
    (void)run("sim down --state " + quoted_);
    EXPECT_EQ(code_, 0) << output();
    EXPECT_FALSE(std::filesystem::exists(state_));
}

TEST_F(SimProgram, GivesBackTheMemoryOfAWorkloadThatIsKilled) {
    (void)run("sim up --gpu a2 --state " + quoted_);
    ASSERT_EQ(code_, 0) << output();
    const auto node = sim::Node::open(state_);
    ASSERT_TRUE(node) << node.error().message;
    std::filesystem::remove(output_);
    auto workload = start("exec aliquot sim use --memory 10Gi --state " + quoted_);
    const auto deadline = std::chrono::steady_clock::now() + kLimit;
    while (node->gpus()[0].processes == 0 && std::chrono::steady_clock::now() < deadline) {
        ASSERT_FALSE(workload.wait(std::chrono::milliseconds(20))) << output();
    }
    ASSERT_EQ(node->gpus()[0].processes, 1U);
    const auto refused = run("sim use --memory 10Gi --for 0 --state " + quoted_);
    EXPECT_EQ(code_, 1);
    EXPECT_TRUE(refused.contains("CUDA out of memory")) << refused;
    workload.signal(SIGKILL);
    ASSERT_TRUE(workload.wait(kLimit));
    EXPECT_EQ(node->gpus()[0].processes, 0U);
    (void)run("sim use --memory 10Gi --for 0 --state " + quoted_);
    EXPECT_EQ(code_, 0) << output();
}

}  // namespace
}  // namespace aliquot
