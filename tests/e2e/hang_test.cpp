// SPDX-License-Identifier: Apache-2.0
// GPUs that hang: calls about them never return. They leave the node's offer and take nothing else
// along. With the built agent, a simulated driver, kubelet and API server.
#include <map>

#include "cluster_node.h"
#include "gpu/replica_id.h"
#include "os/exchange.h"

namespace aliquot {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using Clock = std::chrono::steady_clock;

/// What the issue promises, and what a busy machine may add to it.
constexpr auto kWithdrawn = 15s;
constexpr auto kNoticed = 4s;
constexpr auto kBusyMachine = 10s;

std::string shares(unsigned count) {
    return "version: v1\nsharing:\n  timeSlicing:\n    resources:\n    - {name: nvidia.com/gpu, "
           "replicas: " +
           std::to_string(count) + "}\n";
}

class Hang : public ClusterNode {
protected:
    void start(unsigned gpus, unsigned replicas) {
        make_gpus("h100-80", gpus);
        configure({{"config.yaml", shares(replicas)}});
        ASSERT_TRUE(root_.write_atomically("/sharing.yaml", shares(replicas)));
        start_agent({"--config-file", root_.resolve("/sharing.yaml").string()});
        ASSERT_TRUE(offers(kGpu, gpus * replicas));
        for (const auto& gpu : gpus_->gpus()) uuids_.push_back(gpu.uuid);
    }
    void hang(unsigned gpu) { ASSERT_TRUE(gpus_->inject(gpu, sim::FaultKind::kHang, 0)); }
    void clear(unsigned gpu) { ASSERT_TRUE(gpus_->inject(gpu, sim::FaultKind::kClear, 0)); }

    /// How many threads the agent has.
    std::size_t threads() {
        const auto entries = os::Root("/").list("/proc/" + std::to_string(agent_->pid()) + "/task");
        return entries ? entries->size() : 0;
    }
    /// Pods by the GPU that they were put on.
    std::map<std::string, unsigned> run_pods(unsigned count) {
        std::map<std::string, unsigned> placed;
        for (unsigned i = 0; i < count; ++i) {
            const std::string name = "pod-" + std::to_string(i);
            const auto grants = admit(name, kGpu);
            EXPECT_TRUE(grants) << grants.error().message;
            if (!grants) break;
            ++placed[std::string(gpu::device_of(grants->at(0).devices.at(kGpu).at(0)))];
            kubelet_->remove(name);
        }
        return placed;
    }
    std::vector<std::string> uuids_;
};

TEST_F(Hang, AGpuThatHangsIsWithdrawnAndTheOthersGoOn) {
    start(2, 4);
    const auto before = threads();
    hang(0);
    const auto begun = Clock::now();
    ASSERT_TRUE(offers(kGpu, 4));
    EXPECT_LT(Clock::now() - begun, kWithdrawn + kBusyMachine);
    EXPECT_THAT(condition("GpuHealthy")["message"].get<std::string>(), HasSubstr("hangs"));

    const auto placed = run_pods(100);
    EXPECT_EQ(placed.count(uuids_[0]), 0U);
    EXPECT_EQ(placed.at(uuids_[1]), 100U);

    // Others are seen failing meanwhile.
    const auto failed = Clock::now();
    ASSERT_TRUE(gpus_->inject(1, sim::FaultKind::kXid, 79));
    ASSERT_TRUE(offers(kGpu, 0));
    EXPECT_LT(Clock::now() - failed, kNoticed + kBusyMachine);
    clear(1);
    ASSERT_TRUE(offers(kGpu, 4));

    EXPECT_LE(threads(), before + 4) << "threads pile up behind a GPU that hangs";
    clear(0);
    ASSERT_TRUE(offers(kGpu, 8));
}

TEST_F(Hang, TwoOfEightHangAndTheOthersGoOn) {
    start(8, 2);
    hang(2);
    hang(5);
    ASSERT_TRUE(offers(kGpu, 12));
    const auto placed = run_pods(24);
    EXPECT_EQ(placed.count(uuids_[2]), 0U);
    EXPECT_EQ(placed.count(uuids_[5]), 0U);
    clear(2);
    ASSERT_TRUE(offers(kGpu, 14));
    clear(5);
    ASSERT_TRUE(offers(kGpu, 16));
}

TEST_F(Hang, TheOnlyGpuAndAllGpusAreWithdrawn) {
    start(2, 1);
    hang(0);
    hang(1);
    ASSERT_TRUE(offers(kGpu, 0));
    clear(0);
    ASSERT_TRUE(offers(kGpu, 1));
    clear(1);
    ASSERT_TRUE(offers(kGpu, 2));
}

}  // namespace
}  // namespace aliquot
