// SPDX-License-Identifier: Apache-2.0
#include "cmd/aliquot/sim_command.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "command_line/command.h"
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
        command_line::Command app;
        add_sim_command(app, context);
        const auto parsed = app.parse("sim " + words + " --state " + state_.native());
        return parsed.kind == command_line::Parsed::Kind::kRun ? context.exit_code : cli::kUsage;
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
    EXPECT_EQ(run("use --for 0"), cli::kUsage);
    EXPECT_EQ(run("use --script 0s:80%:2Gi,10s:0% --for 0"), 0) << err_.str();
    EXPECT_EQ(run("use --script 0s:80% --for 0"), cli::kUsage);
    EXPECT_EQ(run("use --script 0s:80%:2Gi --memory 2Gi --for 0"), cli::kUsage);
    EXPECT_EQ(run("fault lost"), 0);
    EXPECT_EQ(run("use --memory 2Gi --for 0"), cli::kFindings);
}

TEST_F(SimCommand, CutsGpusAndUsesTheirMigDevices) {
    EXPECT_EQ(run("up --gpu a2 --mig 1g.5gb"), cli::kUsage);
    EXPECT_EQ(run("up --gpu a100-40 --mig 9g.9gb"), cli::kUsage);
    EXPECT_TRUE(err_.str().contains("3g.20gb")) << err_.str();
    EXPECT_EQ(run("up --gpu a100-40 --mig 7g.40gb,1g.5gb"), cli::kCouldNotRun);
    ASSERT_EQ(run("up --gpu a100-40:2 --mig 3g.20gb,1g.5gb*2 --mig 1="), 0) << err_.str();
    EXPECT_TRUE(out_.str().contains("\n  MIG 0: 3g.20gb (19.5Gi, MIG-")) << out_.str();
    ASSERT_EQ(run("status"), 0);
    EXPECT_TRUE(out_.str().contains("\n0:2   1g.5gb")) << out_.str();
    ASSERT_EQ(run("status -o json"), 0);
    const auto json = nlohmann::json::parse(out_.str());
    EXPECT_EQ(json["gpus"][0]["mig"]["devices"].size(), 3U);
    EXPECT_EQ(json["gpus"][1]["mig"]["enabled"], true);
    EXPECT_EQ(json["gpus"][1]["mig"]["devices"].size(), 0U);
    ASSERT_EQ(run("status -o yaml"), 0);
    EXPECT_TRUE(out_.str().contains("enabled: true\n")) << out_.str();

    EXPECT_EQ(run("use --memory 4Gi --for 0 --mig 0:2"), 0) << err_.str();
    EXPECT_TRUE(out_.str().contains("of GPU 0 MIG 2 (NVIDIA A100-SXM4-40GB MIG 1g.5gb, MIG-"))
        << out_.str();
    const std::string uuid = json["gpus"][0]["mig"]["devices"][1]["uuid"];
    EXPECT_EQ(run("use --memory 5Gi --for 0 --mig " + uuid), cli::kFindings);
    EXPECT_TRUE(err_.str().contains("CUDA out of memory: GPU 0, MIG device")) << err_.str();
    EXPECT_EQ(run("use --memory 1Gi --for 0 --mig 1:0"), cli::kCouldNotRun);
    EXPECT_TRUE(err_.str().contains("0:2 (1g.5gb)")) << err_.str();
    EXPECT_EQ(run("fault xid 13 --mig 0:1"), 0) << err_.str();
    EXPECT_EQ(run("fault xid 13 --gpu 0 --mig 1"), 0) << err_.str();
    EXPECT_EQ(run("fault lost --mig 0:1"), cli::kUsage);
    EXPECT_EQ(run("fault remap-failed --gpu 0"), 0);
    EXPECT_EQ(out_.str(), "GPU 0: row remapping failed\n");
    EXPECT_EQ(run("fault driver-mismatch"), 0);
    EXPECT_EQ(out_.str(), "GPU 0: driver/library mismatch, row remapping failed\n");
    EXPECT_EQ(run("fault clear --gpu all"), 0);
    EXPECT_EQ(out_.str(), "GPU 0: ok\nGPU 1: ok\n");
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
    EXPECT_EQ(visible_places(gpus, {}, {}).size(), 3U);
    EXPECT_EQ(visible_places(gpus, {}, "all").size(), 3U);
    EXPECT_EQ(visible_places(gpus, {}, "none").size(), 0U);
    EXPECT_EQ(visible_places(gpus, {}, "void").size(), 0U);
    EXPECT_EQ(visible_places(gpus, {}, "").size(), 0U);
    EXPECT_EQ(visible_places(gpus, {}, "2,GPU-a").size(), 2U);
    EXPECT_EQ(visible_places(gpus, {}, "GPU-b").at(0).gpu.index, 1U);
    EXPECT_EQ(visible_places(gpus, "GPU-c", "all").at(0).gpu.index, 2U);
    EXPECT_EQ(visible_places(gpus, {}, "GPU-unknown").size(), 0U);

    gpus[1].mig_enabled = true;
    gpus[1].mig_devices = {{.index = 0, .uuid = "MIG-x"}, {.index = 2, .uuid = "MIG-y"}};
    EXPECT_EQ(visible_places(gpus, {}, {}).size(), 4U) << "two GPUs and two MIG devices";
    EXPECT_EQ(visible_places(gpus, {}, "MIG-y").at(0).device->uuid, "MIG-y");
    EXPECT_EQ(visible_places(gpus, {}, "1:2").at(0).device->uuid, "MIG-y");
    EXPECT_EQ(visible_places(gpus, {}, "1").size(), 1U) << "CUDA shows one MIG device at most";
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
