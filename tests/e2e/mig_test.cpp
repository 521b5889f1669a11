// SPDX-License-Identifier: Apache-2.0
//
// `aliquot mig` as a user has it, on a simulated node.
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "os/spawner.h"
#include "os/temporary_directory.h"
#include "sim/kubelet/claim_checkpoint.h"
#include "sim/node/node.h"

namespace aliquot {
namespace {

using Json = nlohmann::json;

class MigProgram : public ::testing::Test {
protected:
    void TearDown() override {
        if (up_) (void)run("sim down --state " + state_.native());
    }

    /// Makes a node; every later `mig` is about it.
    void up(const std::string& gpus) {
        (void)run("sim up --gpu " + gpus + " --state " + state_.native());
        ASSERT_EQ(code_, 0) << error();
        up_ = true;
    }
    std::string mig(const std::string& words) {
        return run("mig " + words + " --node-state " + state_.native());
    }
    /// Runs `aliquot WORDS`; returns its output. code_ is its exit code, error() its other output.
    std::string run(const std::string& words) {
        const auto output = temporary_.path() / "output";
        const auto errors = temporary_.path() / "errors";
        std::filesystem::remove(output);
        auto values = os::current_environment();
        values["PATH"] = std::string(ALIQUOT_BIN_DIR ":") + values["PATH"];
        values.erase("ALIQUOT_SIM_STATE");
        values.erase("LD_LIBRARY_PATH");
        auto process =
            os::Process::start({.argv = {"sh", "-c", "aliquot " + words + " 2>" + errors.native()},
                                .environment = values,
                                .output_path = output.native()});
        EXPECT_TRUE(process) << process.error().message;
        const auto exit = process->wait(std::chrono::seconds{60});
        code_ = exit ? exit->code : -1;
        return text_of(output);
    }
    [[nodiscard]] std::string error() const { return text_of(temporary_.path() / "errors"); }
    static std::string text_of(const std::filesystem::path& path) {
        std::ifstream file(path);
        return {std::istreambuf_iterator<char>(file), {}};
    }
    std::string layout(unsigned gpu) {
        const Json all = Json::parse(mig("list -o json"), nullptr, false);
        if (all.is_discarded()) return "no answer: " + error();
        std::string text;
        for (const Json& one : all["gpus"][gpu]["instances"]) {
            text += (text.empty() ? "" : ",") + one["profile"].get<std::string>() + '@' +
                    std::to_string(one["start"].get<unsigned>());
        }
        return text;
    }
    std::string file(const std::string& name, const std::string& text) {
        const auto path = temporary_.path() / name;
        std::ofstream(path) << text;
        return path.native();
    }

    os::TemporaryDirectory temporary_;
    std::filesystem::path state_ = temporary_.path() / "node";
    int code_ = 0;
    bool up_ = false;
};

TEST_F(MigProgram, PlansWithoutAnyDriver) {
    const Json plan =
        Json::parse(run("mig plan --gpu a100-40 --now 3g.20gb@0,1g.5gb@4:busy "
                        "--want 3g.20gb,1g.5gb*3 -o json"));
    EXPECT_EQ(code_, 0);
    ASSERT_EQ(plan["steps"].size(), 2U);
    EXPECT_EQ(plan["steps"][0],
              (Json{{"action", "create"}, {"profile", "1g.5gb"}, {"start", 5}, {"size", 1}}));
    EXPECT_EQ(plan["layout"].size(), 4U);
    const Json refusal =
        Json::parse(run("mig plan --gpu a100-40 --now 3g.20gb@0,1g.5gb@4:busy "
                        "--want '3g.20gb,2g.10gb,1g.5gb*2' -o json"));
    EXPECT_EQ(code_, 1);
    EXPECT_EQ(refusal["blocking"][0]["profile"], "1g.5gb");
    EXPECT_EQ(refusal["nearest"]["want"], "3g.20gb,1g.10gb,1g.5gb*2");
    (void)run("mig plan --gpu a100-40 --want 3g");
    EXPECT_EQ(code_, 2);
    (void)run("mig plan --gpu a2 --want 1g.5gb");
    EXPECT_EQ(code_, 1);
    EXPECT_TRUE(error().contains("has no MIG")) << error();
    EXPECT_TRUE(run("mig profiles --gpu a100-80").contains("nvidia.com/mig-3g.40gb"));
}

TEST_F(MigProgram, CutsAnA100IntoSevenAndThenIntoTwo) {
    up("a100-40");
    const Json seven = Json::parse(mig("apply --want 1g.5gb*7 -o json"), nullptr, false);
    ASSERT_EQ(code_, 0) << error();
    EXPECT_EQ(seven["gpus"][0]["state"], "reached");
    EXPECT_EQ(layout(0), "1g.5gb@0,1g.5gb@1,1g.5gb@2,1g.5gb@3,1g.5gb@4,1g.5gb@5,1g.5gb@6");
    const std::string dry = mig("apply --want 3g.20gb*2 --dry-run");
    EXPECT_TRUE(dry.contains("8     create")) << dry;
    (void)mig("apply --want 3g.20gb*2");
    ASSERT_EQ(code_, 0) << error();
    EXPECT_EQ(layout(0), "3g.20gb@0,3g.20gb@4");
    (void)mig("apply --want off");
    ASSERT_EQ(code_, 0) << error();
    EXPECT_TRUE(mig("list").contains(" off ")) << error();
}

/// Its pod may not have a process yet, and kubelet may not run.
TEST_F(MigProgram, CutsNoGpuThatAClaimHolds) {
    up("a100-40:2");
    const Json listed = Json::parse(mig("list -o json"), nullptr, false);
    ASSERT_FALSE(listed.is_discarded()) << error();
    const std::string uuid = listed["gpus"][0]["uuid"];
    const auto file = state_ / "var/lib/kubelet/dra_manager_state";
    std::filesystem::create_directories(file.parent_path());
    const auto hold = [&](const std::string& driver, const std::string& device) {
        const sim::ClaimEntry claim{.reference = {"ai", "train", "u1", {driver}},
                                    .pods = {"p1"},
                                    .devices = {{driver,
                                                 {{.claim_uid = "u1",
                                                   .driver = driver,
                                                   .requests = {"gpu"},
                                                   .pool = "n",
                                                   .device = "gpu",
                                                   .cdi_devices = {device}}}}}};
        std::ofstream(file) << sim::to_json({claim});
    };
    hold("gpu.aliquot.dev", "k8s.gpu.aliquot.dev/claim=u1-0.all." + uuid);
    const std::string refused = mig("apply --want 1g.5gb*7 --gpu-index 0");
    EXPECT_EQ(code_, 1) << error();
    EXPECT_TRUE(refused.contains("a pod holds the GPU")) << refused;
    (void)mig("plan --want 1g.5gb*7 --gpu-index 0");
    EXPECT_EQ(code_, 1);
    (void)mig("apply --want 1g.5gb*7 --gpu-index 1");
    EXPECT_EQ(code_, 0) << error();
    hold("gpu.example.com", "k8s.gpu.example.com/claim=u1-gpu-0");
    (void)mig("apply --want off --gpu-index 1");
    EXPECT_EQ(code_, 3) << "which GPU it is nobody can say";
    EXPECT_TRUE(error().contains("claim ai/train holds 'u1-gpu-0' of gpu.example.com")) << error();
    std::filesystem::remove(file);
    (void)mig("plan --want 1g.5gb*7 --gpu-index 0");
    EXPECT_EQ(code_, 0) << error();
}

TEST_F(MigProgram, AppliesAssertsAndExportsConfigurations) {
    up("a100-80:2");
    const std::string config = file("mig.yaml", R"(version: v1
mig-configs:
  off:
  - {devices: all, mig-enabled: false}
  balanced:
  - devices: all
    mig-enabled: true
    mig-devices: {1g.10gb: 2, 2g.20gb: 1, 3g.40gb: 1}
  - devices: [1]
    mig-enabled: true
    mig-devices:
    - {memory-at-least: 30Gi, count: 2}
)");
    (void)mig("assert --config " + config + " --select balanced");
    EXPECT_EQ(code_, 1);
    (void)mig("apply --config " + config + " --select balanced");
    ASSERT_EQ(code_, 0) << error();
    EXPECT_EQ(layout(1), "3g.40gb@0,3g.40gb@4");
    (void)mig("assert --config " + config + " --select balanced");
    EXPECT_EQ(code_, 0) << error();
    const std::string exported = file("export.yaml", mig("export -o yaml"));
    (void)mig("assert --config " + exported + " --select current");
    EXPECT_EQ(code_, 0) << text_of(exported);
    (void)mig("apply --config " + config + " --select nothing");
    EXPECT_EQ(code_, 2);
    EXPECT_TRUE(error().contains("but off, balanced")) << error();
    (void)mig("apply --config " + file("bad.yaml", "version: v1\nmig-config: {}\n"));
    EXPECT_EQ(code_, 2);
    EXPECT_TRUE(error().contains("bad.yaml:2:1: 'mig-config' is not a field")) << error();
}

TEST_F(MigProgram, LeavesABusyInstanceAlone) {
    up("h100-80");
    (void)mig("apply --want 3g.40gb,1g.10gb");
    ASSERT_EQ(code_, 0) << error();
    auto node = sim::Node::open(state_);
    ASSERT_TRUE(node);
    const Json before = Json::parse(mig("list -o json"));
    const Json& instance = before["gpus"][0]["instances"][1];
    ASSERT_EQ(instance["profile"], "3g.40gb");
    ASSERT_TRUE(
        node->set_process(0, static_cast<std::uint32_t>(::getpid()), 1U << 30U, 10,
                          {.gpu_instance = instance["id"].get<unsigned>(), .compute_instance = 0}));
    (void)mig("apply --want 7g.80gb");
    EXPECT_EQ(code_, 1);
    EXPECT_TRUE(error().contains("3g.40gb@4 is busy")) << error();
    (void)mig("apply --want 3g.40gb*2");
    EXPECT_EQ(code_, 0) << error();
    const Json after = Json::parse(mig("list -o json"));
    EXPECT_EQ(after["gpus"][0]["instances"][1]["computeInstances"][0]["uuid"],
              instance["computeInstances"][0]["uuid"]);
}

TEST_F(MigProgram, RestoresWhatAResetTookAway) {
    up("h100-80:2");
    (void)mig("apply --all --want 4g.40gb,3g.40gb");
    ASSERT_EQ(code_, 0) << error();
    auto node = sim::Node::open(state_);
    ASSERT_TRUE(node);
    ASSERT_TRUE(node->reset(1));
    EXPECT_EQ(layout(1), "");
    (void)mig("apply --restore");
    EXPECT_EQ(code_, 0) << error();
    EXPECT_EQ(layout(1), "4g.40gb@0,3g.40gb@4");
}

}  // namespace
}  // namespace aliquot
