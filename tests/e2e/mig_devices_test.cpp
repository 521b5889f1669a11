// SPDX-License-Identifier: Apache-2.0
//
// MIG devices as kubelet and a container runtime see them: the real agent on a simulated node whose
// GPUs are cut, cut anew and put together while it runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <thread>

#include "os/root.h"
#include "os/spawner.h"
#include "os/temporary_directory.h"
#include "sim/kubelet/kubelet.h"
#include "sim/node/node.h"
#include "tests/e2e/agent_process.h"

namespace aliquot {
namespace {

using namespace std::chrono_literals;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

constexpr auto kPatience = 60s;
constexpr const char* kGpu = "nvidia.com/gpu";

std::string strategy(const std::string& word) {
    return "version: v1\nflags:\n  migStrategy: " + word + "\n";
}

class MigDevices : public ::testing::Test {
protected:
    void SetUp() override {
        auto node = sim::Node::create(
            temporary_.path() / "driver", {.gpus = {{.model = "a100-40", .count = 2}}},
            ALIQUOT_SIM_DIR "/libnvidia-ml.so.1", ALIQUOT_SIM_DIR "/nvidia-smi");
        ASSERT_TRUE(node) << node.error().message;
        node_.emplace(*std::move(node));
        kubelet_ = std::make_unique<sim::Kubelet>(root_, sim::KubeletOptions{});
        ASSERT_TRUE(kubelet_->start());
    }

    void configure(const std::string& config) {
        ASSERT_TRUE(root_.write_atomically("/etc/aliquot/config.yaml", config));
    }
    void cut(unsigned gpu, const std::string& layout) {
        const auto done = node_->cut(gpu, layout);
        ASSERT_TRUE(done) << done.error().message;
    }
    void start_agent() {
        auto process = e2e::start_agent_on(
            temporary_.path(), {"--config-file", "/etc/aliquot/config.yaml",
                                "--device-list-strategy", "envvar,cdi-cri", "--pass-device-specs"});
        ASSERT_TRUE(process) << process.error().message;
        agent_.emplace(*std::move(process));
    }
    void expect_devices(const std::string& resource, unsigned count) {
        EXPECT_TRUE(kubelet_->wait_allocatable(resource, count, kPatience))
            << resource << " has " << kubelet_->resources()[resource].allocatable << "\n"
            << text_of(temporary_.path() / "agent.log");
    }
    Result<std::vector<sim::ContainerGrant>> admit(const std::string& name,
                                                   const std::string& resource, unsigned count) {
        sim::PodRequest pod{.uid = name, .name = name, .init_containers = {}, .containers = {}};
        pod.containers.push_back({.name = "main", .limits = {{resource, count}}});
        return kubelet_->admit(pod);
    }
    static std::string text_of(const std::filesystem::path& file) {
        std::ifstream in(file);
        return {std::istreambuf_iterator<char>(in), {}};
    }
    [[nodiscard]] std::string cdi() const {
        return text_of(root_.resolve("/var/run/cdi/k8s.device-plugin.nvidia.com-gpu.json"));
    }
    /// Waits for what another process does to a file.
    template <class Predicate>
    static bool eventually(Predicate holds) {
        const auto end = std::chrono::steady_clock::now() + kPatience;
        while (!holds()) {
            if (std::chrono::steady_clock::now() > end) return false;
            std::this_thread::sleep_for(10ms);
        }
        return true;
    }

    os::TemporaryDirectory temporary_;
    os::Root root_{temporary_.path()};
    std::optional<sim::Node> node_;
    std::unique_ptr<sim::Kubelet> kubelet_;
    std::optional<os::Process> agent_;
};

TEST_F(MigDevices, MixedGivesAPodTheProfileItAsksFor) {
    configure(strategy("mixed"));
    cut(1, "3g.20gb@4,2g.10gb@0,1g.5gb*2");
    start_agent();
    expect_devices(kGpu, 1);
    expect_devices("nvidia.com/mig-3g.20gb", 1);
    expect_devices("nvidia.com/mig-2g.10gb", 1);
    expect_devices("nvidia.com/mig-1g.5gb", 2);

    const auto grants = admit("trainer", "nvidia.com/mig-3g.20gb", 1);
    ASSERT_TRUE(grants) << grants.error().message;
    const auto devices = node_->gpus().at(1).mig_devices;
    const auto wanted = std::ranges::find(devices, "3g.20gb", &sim::MigDeviceView::profile);
    ASSERT_NE(wanted, devices.end());
    const grant::Grant& grant = grants->at(0).grant;
    EXPECT_EQ(grant.environment.at("NVIDIA_VISIBLE_DEVICES"), wanted->uuid);
    EXPECT_THAT(grant.cdi_devices,
                testing::ElementsAre("k8s.device-plugin.nvidia.com/gpu=" + wanted->uuid));
    std::vector<std::string> nodes;
    for (const auto& node : grant.device_nodes) nodes.push_back(node.container_path);
    EXPECT_THAT(nodes, Contains("/dev/nvidia1"));
    EXPECT_THAT(nodes, Not(Contains("/dev/nvidia0")));
    EXPECT_EQ(std::ranges::count_if(
                  nodes, [](const auto& path) { return path.starts_with("/dev/nvidia-caps/"); }),
              2);
    EXPECT_THAT(cdi(), HasSubstr(wanted->uuid));
}

TEST_F(MigDevices, SingleCallsThemGpusAndNoneGivesWholeGpus) {
    configure(strategy("single"));
    cut(0, "1g.5gb*7");
    cut(1, "1g.5gb*7");
    start_agent();
    expect_devices(kGpu, 14);
    configure(strategy("none"));
    expect_devices(kGpu, 2);
    configure(strategy("mixed"));
    expect_devices("nvidia.com/mig-1g.5gb", 14);
    EXPECT_TRUE(eventually([&] { return kubelet_->resources()[kGpu].allocatable == 0; }));
}

TEST_F(MigDevices, AppearAndVanishWhileTheAgentRuns) {
    configure(strategy("mixed"));
    start_agent();
    expect_devices(kGpu, 2);
    cut(0, "7g.40gb");
    expect_devices("nvidia.com/mig-7g.40gb", 1);
    expect_devices(kGpu, 1);
    cut(0, "3g.20gb*2");
    expect_devices("nvidia.com/mig-3g.20gb", 2);
    expect_devices("nvidia.com/mig-7g.40gb", 0);
    const auto devices = node_->gpus().at(0).mig_devices;
    for (const auto& device : devices) {
        EXPECT_TRUE(eventually([&] { return cdi().contains(device.uuid); })) << cdi();
    }
}

TEST_F(MigDevices, ADestroyedOneThatAPodHoldsIsUnhealthyUntilThePodEnds) {
    constexpr const char* kSmall = "nvidia.com/mig-1g.5gb";
    configure(strategy("mixed"));
    cut(0, "1g.5gb*7");
    cut(1, "1g.5gb*7");
    start_agent();
    expect_devices(kSmall, 14);
    const auto grants = admit("holder", kSmall, 1);
    ASSERT_TRUE(grants) << grants.error().message;
    const std::string held = grants->at(0).devices.at(kSmall).at(0);
    const auto first = node_->gpus().at(0).mig_devices;
    const bool on_first = std::ranges::find(first, held, &sim::MigDeviceView::uuid) != first.end();
    cut(on_first ? 0 : 1, "7g.40gb");
    expect_devices(kSmall, 7);
    EXPECT_TRUE(eventually([&] { return kubelet_->resources()[kSmall].capacity == 8; }));
    EXPECT_THAT(kubelet_->resources()[kSmall].unhealthy, testing::ElementsAre(held));
    EXPECT_EQ(kubelet_->holders().at(held), "holder/main");  // the pod keeps what it was given
    kubelet_->remove("holder");
    EXPECT_TRUE(eventually([&] { return kubelet_->resources()[kSmall].capacity == 7; }));
}

TEST_F(MigDevices, AreTimeSlicedByTheNameOfTheirProfile) {
    configure(strategy("mixed") +
              "sharing:\n"
              "  timeSlicing:\n"
              "    resources:\n"
              "      - name: nvidia.com/mig-3g.20gb\n"
              "        rename: nvidia.com/half\n"
              "        replicas: 4\n"
              "        devices: [\"0:0\"]\n");
    cut(0, "3g.20gb*2");
    start_agent();
    expect_devices("nvidia.com/half", 4);
    expect_devices("nvidia.com/mig-3g.20gb", 1);
    const auto grants = admit("pair", "nvidia.com/half", 2);
    ASSERT_TRUE(grants) << grants.error().message;
    EXPECT_THAT(grants->at(0).devices.at("nvidia.com/half"), SizeIs(2));
    EXPECT_EQ(grants->at(0).grant.environment.at("NVIDIA_VISIBLE_DEVICES"),
              node_->gpus().at(0).mig_devices.at(0).uuid);
}

/// A pod's process may not have reached the GPU yet; its instance is the pod's all the same.
TEST_F(MigDevices, OneThatAPodHoldsIsBusyWithoutAnyProcess) {
    configure(strategy("mixed"));
    cut(0, "3g.20gb@4,1g.5gb@0");
    start_agent();
    expect_devices("nvidia.com/mig-3g.20gb", 1);
    ASSERT_TRUE(admit("trainer", "nvidia.com/mig-3g.20gb", 1));
    const auto apply = [&](const std::string& socket) {
        auto process = os::Process::start(
            {.argv = {ALIQUOT_BIN_DIR "/aliquot", "mig", "apply", "--want", "1g.5gb*3",
                      "--gpu-index", "0", "--leave-busy", "--node-state",
                      (temporary_.path() / "driver").string(), "--pod-resources-socket", socket},
             .environment = os::current_environment(),
             .output_path = (temporary_.path() / "apply.log").string()});
        const auto exit = process ? process->wait(kPatience) : std::nullopt;
        return exit ? exit->code : -1;
    };
    const auto layout = [&] {
        std::vector<std::string> profiles;
        const auto devices = node_->gpus().at(0).mig_devices;
        for (const auto& device : devices) {
            profiles.push_back(device.profile);
        }
        std::ranges::sort(profiles);
        return profiles;
    };
    // Without kubelet's word nothing is touched.
    EXPECT_EQ(apply((temporary_.path() / "nobody.sock").string()), 3);
    EXPECT_THAT(layout(), testing::ElementsAre("1g.5gb", "3g.20gb"));
    EXPECT_EQ(apply(root_.resolve("/var/lib/kubelet/pod-resources/kubelet.sock").string()), 0)
        << text_of(temporary_.path() / "apply.log");
    EXPECT_THAT(layout(), testing::ElementsAre("1g.5gb", "1g.5gb", "1g.5gb", "3g.20gb"));
}

/// `aliquot mig apply` before a reboot, the agent after it.
TEST_F(MigDevices, AreMadeAgainAfterAReboot) {
    auto apply = os::Process::start(
        {.argv = {ALIQUOT_BIN_DIR "/aliquot", "mig", "apply", "--want", "3g.20gb,2g.10gb",
                  "--gpu-index", "0", "--driver-root", (temporary_.path() / "driver").string(),
                  "--pod-resources-socket", "none", "--state",
                  root_.resolve("/var/lib/aliquot/mig").string()},
         .environment = os::current_environment(),
         .output_path = (temporary_.path() / "apply.log").string()});
    ASSERT_TRUE(apply) << apply.error().message;
    const auto exit = apply->wait(kPatience);
    ASSERT_TRUE(exit);
    ASSERT_EQ(exit->code, 0) << text_of(temporary_.path() / "apply.log");
    ASSERT_EQ(node_->gpus().at(0).mig_devices.size(), 2U);
    ASSERT_TRUE(node_->reset(0));
    ASSERT_TRUE(node_->gpus().at(0).mig_devices.empty());
    configure(strategy("mixed"));
    start_agent();
    expect_devices("nvidia.com/mig-3g.20gb", 1);
    expect_devices("nvidia.com/mig-2g.10gb", 1);
    EXPECT_THAT(text_of(temporary_.path() / "agent.log"), HasSubstr("mig.restore"));
}

}  // namespace
}  // namespace aliquot
