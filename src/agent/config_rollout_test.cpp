// SPDX-License-Identifier: Apache-2.0
#include "agent/config_rollout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "os/temporary_directory.h"
#include "sharing/config.h"

namespace aliquot::agent {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kGpu[] = "nvidia.com/gpu";
constexpr char kCheckpoint[] = "/var/lib/kubelet/device-plugins/kubelet_internal_checkpoint";

gpu::Inventory node(unsigned gpus) {
    gpu::Inventory inventory;
    for (unsigned i = 0; i < gpus; ++i) {
        inventory.gpus.push_back({.index = i,
                                  .uuid = {"GPU-" + std::string(1, static_cast<char>('a' + i))},
                                  .minor = i});
    }
    return inventory;
}

/// A node with two GPUs, an agent's rollout on it and what kubelet says.
class ConfigRolloutTest : public testing::Test {
protected:
    ConfigRolloutTest() { restart(); }

    void restart() {
        rollout_.emplace(root_, clock_,
                         ConfigRollout::Sources{.grants = grants_,
                                                .pods =
                                                    [this](auto) {
                                                        ++questions_;
                                                        return pods_;
                                                    },
                                                .allocatable =
                                                    [this](auto) {
                                                        if (meanwhile_) meanwhile_();
                                                        return allocatable_;
                                                    }},
                         ConfigRollout::Options{.record = "/var/lib/aliquot/served-devices.json"});
    }
    static sharing::Offer offer(unsigned replicas, const gpu::Inventory& inventory) {
        sharing::Config config;
        if (replicas > 1) {
            config.sharing.mechanism = grant::Mechanism::kTimeSlicing;
            config.sharing.resources = {{.name = kGpu, .replicas = replicas}};
        }
        return *sharing::make_offer(config, inventory);
    }
    /// The ids that are listed after one round, with "!" where they are unhealthy.
    std::vector<std::string> serve(unsigned replicas) {
        auto round = rollout_->begin(offer(replicas, inventory_), inventory_);
        if (!round) return {"again"};
        rollout_->finish(round->offer);
        std::vector<std::string> ids;
        std::vector<std::string> healthy;
        for (const auto& resource : round->offer.resources) {
            for (const auto& device : resource.devices()) {
                ids.push_back(device.id + (device.healthy ? "" : "!"));
                if (device.healthy) healthy.push_back(device.id);
            }
        }
        if (hears_) allocatable_ = healthy;
        waiting_ = round->waiting;
        return ids;
    }
    void hold(const std::string& id) {
        pods_ = kubelet::ActivePods{.pods = {{"ai", "one"}},
                                    .holders = {{"ai", "one", "main", kGpu, {id}}}};
        write(id);
    }
    void write(const std::string& id) {
        ASSERT_TRUE(root_.write_atomically(
            kCheckpoint,
            R"({"Data":{"PodDeviceEntries":[{"PodUID":"u1","ContainerName":"main","ResourceName":")" +
                std::string(kGpu) + R"(","DeviceIDs":{"0":[")" + id + R"("]}}]}})"));
    }
    void release() {
        pods_ = kubelet::ActivePods{};
        ASSERT_TRUE(root_.remove(kCheckpoint));
    }

    os::TemporaryDirectory directory_;
    os::Root root_{directory_.path()};
    os::ManualClock clock_;
    gpu::Inventory inventory_ = node(2);
    RecentGrants grants_;
    Result<kubelet::ActivePods> pods_{kubelet::ActivePods{}};
    Result<std::vector<std::string>> allocatable_{std::vector<std::string>{}};
    std::function<void()> meanwhile_;  // while kubelet is asked what it gives away
    bool hears_ = true;
    int questions_ = 0;
    std::vector<sharing::WaitingDevice> waiting_;
    std::optional<ConfigRollout> rollout_;
};

TEST_F(ConfigRolloutTest, KubeletIsNotAskedWhileEverythingIsAsConfigured) {
    EXPECT_THAT(serve(2), SizeIs(4));
    hold("GPU-a::1");
    restart();
    for (int i = 0; i < 3; ++i) EXPECT_THAT(serve(2), SizeIs(4));
    EXPECT_EQ(questions_, 0);
    EXPECT_FALSE(rollout_->next_look());
}

TEST_F(ConfigRolloutTest, AnIdleNodeChangesInTwoRoundsAndAHeldGpuWhenItIsFree) {
    serve(2);
    hold("GPU-a::1");
    EXPECT_THAT(serve(1), ElementsAre("GPU-a::1"));
    EXPECT_TRUE(rollout_->is_closing());
    EXPECT_THAT(serve(1), ElementsAre("GPU-a::1", "GPU-b"));
    EXPECT_FALSE(rollout_->is_closing());
    ASSERT_TRUE(rollout_->next_look());
    EXPECT_THAT(waiting_.at(0).pods, ElementsAre("ai/one"));
    release();
    serve(1);
    EXPECT_THAT(serve(1), ElementsAre("GPU-a", "GPU-b"));
    EXPECT_FALSE(rollout_->next_look());
}

TEST_F(ConfigRolloutTest, ARestartRemembersWhatWasPromised) {
    serve(2);
    hold("GPU-a::1");
    restart();
    EXPECT_THAT(serve(4), ElementsAre("GPU-a::1", "GPU-b::0", "GPU-b::1", "GPU-b::2", "GPU-b::3"));
    restart();
    // b needs no withdrawing: kubelet's connection to the earlier agent is gone, too.
    EXPECT_THAT(serve(1), ElementsAre("GPU-a::1", "GPU-b"));
    EXPECT_EQ(rollout_->served().at({"GPU-a"}).device.replicas, 2U);
}

TEST_F(ConfigRolloutTest, ALostRecordFreezesWhatIsHeldUntilItIsFree) {
    serve(2);
    hold("GPU-a::1");
    ASSERT_TRUE(root_.write_atomically("/var/lib/aliquot/served-devices.json", "{"));
    for (int i = 0; i < 2; ++i) {  // the second agent finds a good record without that device
        restart();
        EXPECT_THAT(serve(2), ElementsAre("GPU-a::1!", "GPU-b::0", "GPU-b::1")) << i;
    }
    release();
    EXPECT_THAT(serve(2), SizeIs(4));
}

TEST_F(ConfigRolloutTest, AKubeletThatDoesNotAnswerKeepsEverythingThatMayBeHeld) {
    serve(2);
    write("GPU-a::1");
    pods_ = Error{ErrorCode::kUnavailable, "no kubelet"};
    allocatable_ = Error{ErrorCode::kUnavailable, "no kubelet"};
    hears_ = false;
    for (int i = 0; i < 3; ++i) {
        EXPECT_THAT(serve(1), ElementsAre("GPU-a::1"));
        clock_.advance(1s);
    }
    clock_.advance(30s);  // nothing is written of b, and kubelet had time enough to hear
    EXPECT_THAT(serve(1), ElementsAre("GPU-a::1", "GPU-b"));
    clock_.advance(1h);
    EXPECT_THAT(serve(1), ElementsAre("GPU-a::1", "GPU-b"));
}

TEST_F(ConfigRolloutTest, AGrantOfThisMomentCountsThoughKubeletDoesNotListIt) {
    serve(2);
    const std::vector<std::string> ids{"GPU-b::0"};
    ASSERT_TRUE(grants_.begin(kGpu, ids));
    serve(1);
    EXPECT_THAT(serve(1), ElementsAre("GPU-a", "GPU-b::0"));
}

TEST_F(ConfigRolloutTest, AGrantThatComesBetweenStopsTheChange) {
    serve(2);
    EXPECT_THAT(serve(1), IsEmpty());  // closing
    // kubelet has answered who holds what when it comes with a pod that it had begun to admit.
    const std::vector<std::string> ids{"GPU-b::0"};
    meanwhile_ = [&] { EXPECT_TRUE(grants_.begin(kGpu, ids)); };
    EXPECT_THAT(serve(1), ElementsAre("again"));
    const auto record = ServedRecord(root_, "/var/lib/aliquot/served-devices.json").load();
    EXPECT_EQ(record.served.at({"GPU-b"}).device.replicas, 2U);
    meanwhile_ = {};
    EXPECT_THAT(serve(1), ElementsAre("GPU-a", "GPU-b::0"));
}

TEST_F(ConfigRolloutTest, NothingChangesWhileTheRecordCannotBeWritten) {
    serve(2);
    ASSERT_TRUE(root_.remove("/var/lib/aliquot/served-devices.json"));
    // A directory in its place: renaming a file onto it fails for root, too.
    ASSERT_TRUE(root_.make_directories("/var/lib/aliquot/served-devices.json/x"));
    for (int i = 0; i < 3; ++i) EXPECT_THAT(serve(1), SizeIs(4)) << i;
    EXPECT_THAT(to_text(waiting_.at(0)), HasSubstr("served-devices.json"));
    std::filesystem::remove_all(root_.resolve("/var/lib/aliquot/served-devices.json"));
    serve(1);
    EXPECT_THAT(serve(1), ElementsAre("GPU-a", "GPU-b"));
}

TEST_F(ConfigRolloutTest, ADriverThatToldOfNoGpuChangesNothing) {
    serve(2);
    hold("GPU-a::1");
    const auto round = rollout_->begin({}, {});
    ASSERT_TRUE(round);
    EXPECT_THAT(round->offer.resources, IsEmpty());
    EXPECT_THAT(rollout_->served(), SizeIs(2));
}

}  // namespace
}  // namespace aliquot::agent
