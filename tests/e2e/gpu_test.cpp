// SPDX-License-Identifier: Apache-2.0
//
// Health as a user and kubelet see it: the real agent on a simulated node, a simulated kubelet, and
// `aliquot gpu` that asks the agent.
#include <gtest/gtest.h>
#include <signal.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "os/root.h"
#include "os/spawner.h"
#include "os/temporary_directory.h"
#include "sim/kubelet/kubelet.h"
#include "sim/node/node.h"
#include "tests/e2e/agent_process.h"

namespace aliquot {
namespace {

using Json = nlohmann::json;
using namespace std::chrono_literals;

constexpr const char* kGpu = "nvidia.com/gpu";
constexpr auto kPatience = 60s;
constexpr std::string_view kFourReplicas =
    "version: v1\n"
    "sharing:\n"
    "  timeSlicing:\n"
    "    resources:\n"
    "      - name: nvidia.com/gpu\n"
    "        replicas: 4\n";

/// Eight A2 in four replicas each, offered by the agent to a kubelet.
class GpuHealth : public ::testing::Test {
protected:
    void SetUp() override {
        auto node =
            sim::Node::create(temporary_.path() / "driver", {.gpus = {{.model = "a2", .count = 8}}},
                              ALIQUOT_SIM_DIR "/libnvidia-ml.so.1", "");
        ASSERT_TRUE(node) << node.error().message;
        node_.emplace(*std::move(node));
        ASSERT_TRUE(root_.write_atomically("/etc/aliquot/config.yaml", kFourReplicas));
        kubelet_ = std::make_unique<sim::Kubelet>(root_, sim::KubeletOptions{});
        ASSERT_TRUE(kubelet_->start());
        start_agent();
        ASSERT_TRUE(kubelet_->wait_allocatable(kGpu, 32, kPatience)) << agent_log();
    }

    void start_agent() {
        auto process =
            e2e::start_agent_on(temporary_.path(), {"--config-file", "/etc/aliquot/config.yaml"});
        ASSERT_TRUE(process) << process.error().message;
        agent_.emplace(*std::move(process));
    }

    /// `aliquot gpu WORDS...` against the agent of this node.
    std::string gpu(std::vector<std::string> words) {
        const auto output = temporary_.path() / "output";
        std::filesystem::remove(output);
        std::vector<std::string> argv{ALIQUOT_BIN_DIR "/aliquot", "gpu"};
        argv.insert(argv.end(), words.begin(), words.end());
        argv.insert(argv.end(),
                    {"--agent", "unix:" + root_.resolve("/run/aliquot/agent.sock").string()});
        auto process = os::Process::start({.argv = argv,
                                           .environment = os::current_environment(),
                                           .output_path = output.string()});
        EXPECT_TRUE(process);
        const auto exit = process->wait(kPatience);
        code_ = exit ? exit->code : -1;
        return text_of(output);
    }
    Json list() {
        const std::string text = gpu({"list", "-o", "json"});
        const Json page = Json::parse(text, nullptr, false);  // none while the agent starts
        return page.is_object() ? page.value("gpus", Json::array()) : Json::array();
    }
    /// Waits until GPU `index` is shown as `health`.
    Json wait_for(unsigned index, const std::string& health) {
        const auto end = std::chrono::steady_clock::now() + kPatience;
        Json gpus = list();
        while (std::chrono::steady_clock::now() < end &&
               (gpus.size() <= index || gpus[index]["health"] != health)) {
            gpus = list();
        }
        return gpus.at(index);
    }

    static std::string text_of(const std::filesystem::path& file) {
        std::ifstream in(file);
        return {std::istreambuf_iterator<char>(in), {}};
    }
    [[nodiscard]] std::string agent_log() const { return text_of(temporary_.path() / "agent.log"); }

    os::TemporaryDirectory temporary_;
    os::Root root_{temporary_.path()};
    std::optional<sim::Node> node_;
    std::unique_ptr<sim::Kubelet> kubelet_;
    std::optional<os::Process> agent_;
    int code_ = 0;
};

TEST_F(GpuHealth, AnXidTakesAllReplicasOfItsGpuAndGivesThemBack) {
    ASSERT_TRUE(node_->inject(3, sim::FaultKind::kXid, 79));
    ASSERT_TRUE(kubelet_->wait_allocatable(kGpu, 28, kPatience)) << agent_log();
    EXPECT_EQ(kubelet_->resources()[kGpu].capacity, 32U);
    EXPECT_EQ(kubelet_->resources()[kGpu].unhealthy.size(), 4U);

    const Json broken = wait_for(3, "Unhealthy");
    EXPECT_EQ(code_, 1);
    EXPECT_TRUE(broken["reason"].get<std::string>().starts_with("Xid 79: GPU has fallen off"))
        << broken;
    EXPECT_TRUE(broken["advice"].get<std::string>().contains("restart the machine")) << broken;
    EXPECT_TRUE(broken["since"].is_string()) << broken;
    EXPECT_EQ(broken["xids"].back()["xid"], 79);

    ASSERT_TRUE(node_->inject(3, sim::FaultKind::kClear, 0));
    // Recovery has a deadline: ten seconds.
    EXPECT_TRUE(kubelet_->wait_allocatable(kGpu, 32, kPatience)) << agent_log();
    EXPECT_EQ(wait_for(3, "Healthy")["reason"], "");
    EXPECT_EQ(code_, 0);
}

TEST_F(GpuHealth, AnApplicationsFaultIsShownAndTakesNothing) {
    ASSERT_TRUE(node_->inject(2, sim::FaultKind::kXid, 31));
    Json one = list().at(2);
    for (const auto end = std::chrono::steady_clock::now() + kPatience;
         one["xids"].empty() && std::chrono::steady_clock::now() < end;) {
        one = list().at(2);
    }
    EXPECT_EQ(one["xids"].back()["xid"], 31);
    EXPECT_EQ(one["health"], "Healthy");
    EXPECT_EQ(kubelet_->resources()[kGpu].allocatable, 32U);
}

TEST_F(GpuHealth, MemoryThatCannotBeRepairedTakesTheGpuEvenIfTheAgentNeverSawTheXid) {
    agent_->signal(SIGKILL);
    ASSERT_TRUE(agent_->wait(kPatience));
    ASSERT_TRUE(node_->inject(5, sim::FaultKind::kRemapFailed, 0));
    start_agent();
    const Json one = wait_for(5, "Unhealthy");
    EXPECT_EQ(one["advice"], "replace the board");
    EXPECT_TRUE(kubelet_->wait_allocatable(kGpu, 28, kPatience)) << agent_log();
}

TEST_F(GpuHealth, WhatCanWaitForTheNextResetOnlyDegrades) {
    ASSERT_TRUE(node_->inject(6, sim::FaultKind::kRemapPending, 0));
    const Json one = wait_for(6, "Degraded");
    EXPECT_EQ(code_, 0);
    EXPECT_TRUE(one["advice"].get<std::string>().contains("maintenance window")) << one;
    EXPECT_EQ(kubelet_->resources()[kGpu].allocatable, 32U);
    const std::string table = gpu({"list"});
    EXPECT_TRUE(table.contains("Degraded")) << table;
    EXPECT_TRUE(table.contains("GPU 6: reset the GPU")) << table;
}

TEST_F(GpuHealth, ShowsOneGpuByIndexUuidOrAddress) {
    const Json first = list().at(0);
    for (const char* key : {"uuid", "pci"}) {
        const std::string text = gpu({"show", first[key].get<std::string>()});
        EXPECT_EQ(code_, 0) << text;
        EXPECT_TRUE(text.contains("NVIDIA A2")) << text;
    }
    EXPECT_TRUE(gpu({"show", "8"}).contains("no GPU '8' on this node"));
    EXPECT_EQ(code_, 2);
}

}  // namespace
}  // namespace aliquot
