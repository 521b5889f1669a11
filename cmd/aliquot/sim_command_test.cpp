// SPDX-License-Identifier: Apache-2.0
#include "cmd/aliquot/sim_command.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "document/yaml.h"
#include "os/temporary_directory.h"

namespace aliquot::sim {
namespace {

/// The command in a place where a build would have put its files.
class SimCommand : public ::testing::Test {
protected:
    void SetUp() override {
        std::filesystem::create_directories(temporary_.path() / "sim");
        std::ofstream(temporary_.path() / "sim/libnvidia-ml.so.1") << "library";
        std::ofstream(temporary_.path() / "sim/nvidia-smi") << "smi";
    }

    int run(const std::string& words) {
        out_.str("");
        err_.str("");
        cli::Context context{
            .out = out_, .err = err_, .program_directory = temporary_.path() / "bin"};
        CLI::App app;
        add_sim_command(app, context);
        try {
            app.parse("sim " + words + " --state " + state_.native());
        } catch (const CLI::ParseError&) {
            return cli::kUsage;
        }
        return context.exit_code;
    }

    os::TemporaryDirectory temporary_;
    std::filesystem::path state_ = temporary_.path() / "node";
    std::ostringstream out_;
    std::ostringstream err_;
};

TEST_F(SimCommand, MakesShowsAndRemovesANode) {
    EXPECT_EQ(run("up --gpu a2 --gpu t4:2"), 0) << err_.str();
    EXPECT_TRUE(out_.str().contains("GPU 2: Tesla T4")) << out_.str();
    EXPECT_EQ(run("status"), 0);
    EXPECT_TRUE(out_.str().starts_with("GPU   MODEL   MEMORY")) << out_.str();
    EXPECT_EQ(run("down"), 0);
    EXPECT_FALSE(std::filesystem::exists(state_));
    EXPECT_EQ(run("status"), cli::kCouldNotRun);
    EXPECT_TRUE(err_.str().contains("aliquot sim up")) << err_.str();
}

TEST_F(SimCommand, TellsItsStatusToPrograms) {
    ASSERT_EQ(run("up --gpu a2"), 0) << err_.str();
    ASSERT_EQ(run("fault xid 48 --gpu 0"), 0) << err_.str();
    ASSERT_EQ(run("status -o json"), 0);
    const auto json = nlohmann::json::parse(out_.str());
    EXPECT_EQ(json["gpus"][0]["model"], "a2");
    EXPECT_EQ(json["gpus"][0]["lastXid"], 48);
    EXPECT_EQ(json["state"], state_.native());
    ASSERT_EQ(run("status -o yaml"), 0);
    const auto yaml = document::parse_yaml(out_.str());
    ASSERT_TRUE(yaml.errors.empty()) << out_.str();
    EXPECT_EQ(yaml.documents[0].find("gpus")->items[0].find("fault")->scalar, "needs GPU reset");
    EXPECT_EQ(run("status -o xml"), cli::kUsage);
}

TEST_F(SimCommand, SaysWhatIsWrongWithAnOrder) {
    EXPECT_EQ(run("up --gpu h100"), cli::kUsage);
    EXPECT_TRUE(err_.str().contains("did you mean h100-80?")) << err_.str();
    EXPECT_EQ(run("up --gpu a2 --driver-version ../x"), cli::kUsage);
    ASSERT_EQ(run("up --gpu a2:2"), 0);
    EXPECT_EQ(run("up --gpu a2:2"), cli::kCouldNotRun);
    EXPECT_EQ(run("fault xid 79"), cli::kUsage);  // which of the two?
    EXPECT_EQ(run("fault xid 79 --gpu 2"), cli::kUsage);
    EXPECT_EQ(run("fault xid --gpu 0"), cli::kUsage);
    EXPECT_EQ(run("fault broken --gpu 0"), cli::kUsage);
    EXPECT_EQ(run("fault lost --gpu all"), 0) << err_.str();
    EXPECT_EQ(out_.str(), "GPU 0: lost\nGPU 1: lost\n");
    EXPECT_EQ(run("fault clear --gpu all"), 0);
    EXPECT_EQ(out_.str(), "GPU 0: ok\nGPU 1: ok\n");
}

TEST_F(SimCommand, HoldsMemoryForAWhileAndGivesItBack) {
    ASSERT_EQ(run("up --gpu a2"), 0) << err_.str();
    EXPECT_EQ(run("use --memory 2Gi --sm 40 --for 0"), 0) << err_.str();
    EXPECT_TRUE(out_.str().contains("holds 2Gi and 40 % of GPU 0 (NVIDIA A2, GPU-")) << out_.str();
    EXPECT_EQ(Node::open(state_)->gpus()[0].processes, 0U);
    EXPECT_EQ(run("use --memory 20Gi --for 0"), cli::kFindings);
    EXPECT_TRUE(err_.str().contains("CUDA out of memory: GPU 0")) << err_.str();
    EXPECT_EQ(run("use --memory 2Gi --gpus 2 --for 0"), cli::kFindings);
    EXPECT_TRUE(err_.str().contains("no CUDA-capable device")) << err_.str();
    EXPECT_EQ(run("use --memory lots --for 0"), cli::kUsage);
    EXPECT_EQ(run("fault lost"), 0);
    EXPECT_EQ(run("use --memory 2Gi --for 0"), cli::kFindings);
}

TEST(ShellWord, IsOneWordWhateverIsInIt) {
    EXPECT_EQ(shell_word("/tmp/aliquot-sim-0"), "/tmp/aliquot-sim-0");
    EXPECT_EQ(shell_word("a b"), "'a b'");
    EXPECT_EQ(shell_word("it's $HOME;`id`"), "'it'\\''s $HOME;`id`'");
    EXPECT_EQ(shell_word(""), "''");
}

TEST(Environment, KeepsWhatWasThere) {
    EXPECT_EQ(environment_text("/x y"),
              "export ALIQUOT_SIM_STATE='/x y'\n"
              "export LD_LIBRARY_PATH='/x y/lib'\"${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}\"\n"
              "export PATH='/x y/bin'\"${PATH:+:$PATH}\"\n");
}

TEST(VisibleGpus, AreThoseOfTheEnvironment) {
    std::vector<GpuView> gpus(3);
    for (unsigned i = 0; i < 3; ++i) {
        gpus[i].index = i;
        gpus[i].uuid = "GPU-" + std::string(1, static_cast<char>('a' + i));
    }
    EXPECT_EQ(visible_gpus(gpus, {}, {}).size(), 3U);
    EXPECT_EQ(visible_gpus(gpus, {}, "all").size(), 3U);
    EXPECT_EQ(visible_gpus(gpus, {}, "none").size(), 0U);
    EXPECT_EQ(visible_gpus(gpus, {}, "void").size(), 0U);
    EXPECT_EQ(visible_gpus(gpus, {}, "").size(), 0U);
    EXPECT_EQ(visible_gpus(gpus, {}, "2,GPU-a").size(), 2U);
    EXPECT_EQ(visible_gpus(gpus, {}, "GPU-b").at(0).index, 1U);
    EXPECT_EQ(visible_gpus(gpus, "GPU-c", "all").at(0).index, 2U);
    EXPECT_EQ(visible_gpus(gpus, {}, "GPU-unknown").size(), 0U);
}

TEST(Fault, TakesHexadecimalAndDefaults) {
    EXPECT_EQ(parse_fault("throttle", "0x8", false)->value, 8U);
    EXPECT_EQ(parse_fault("throttle", {}, false)->value, 0x40U);
    EXPECT_EQ(parse_fault("ecc", {}, true)->kind, FaultKind::kEccCorrected);
    EXPECT_EQ(parse_fault("hang", {}, false)->value, 0U);
    EXPECT_FALSE(parse_fault("lost", "1", false));
    EXPECT_FALSE(parse_fault("xid", "-1", false));
    EXPECT_FALSE(parse_fault("lost", {}, true));
}

}  // namespace
}  // namespace aliquot::sim
