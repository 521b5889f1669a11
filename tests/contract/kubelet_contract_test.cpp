// SPDX-License-Identifier: Apache-2.0
//
// What any device plugin can rely on from kubelet's device manager. The kubelet here is the
// simulated one; each statement names what kubelet 1.36 does (package devicemanager unless said
// otherwise), and holds for the least possible plugin as for ours.
#include <gmock/gmock.h>

#include <memory>
#include <set>
#include <thread>

#include "kubelet/device_plugin.h"
#include "tests/contract/kubelet_world.h"
#include "tests/contract/scripted_plugin.h"

namespace aliquot::contract {
namespace {

using grant::Device;
using std::chrono::milliseconds;

/// A well-behaved plugin for nvidia.com/gpu, whatever it is made of.
class Plugin {
public:
    virtual ~Plugin() = default;
    virtual void start(std::vector<Device> devices) = 0;
    virtual void update(std::vector<Device> devices) = 0;
    virtual void stop() = 0;      // as the end of its process
    virtual void withdraw() = 0;  // the resource goes away for good
    /// kubelet is there anew. A plugin that notices by itself does nothing here.
    virtual void kubelet_restarted() = 0;
    [[nodiscard]] virtual unsigned allocations() const = 0;
};

/// Registers when told to.
class LeastPlugin final : public Plugin {
public:
    LeastPlugin(const os::Root& root, bool registry)
        : directory_(root.resolve(kDirectory).string()),
          registry_(registry ? root.resolve(kRegistry).string() : "") {}

    void start(std::vector<Device> devices) override {
        plugin_.set_devices(std::move(devices));
        listen();
    }
    void update(std::vector<Device> devices) override { plugin_.set_devices(std::move(devices)); }
    void stop() override { plugin_.stop(); }
    void withdraw() override { plugin_.set_devices({}); }
    void kubelet_restarted() override {
        if (!registry_.empty()) return;  // kubelet looks there by itself
        plugin_.stop();
        listen();
    }
    [[nodiscard]] unsigned allocations() const override { return plugin_.seen().allocations; }

private:
    void listen() {
        ASSERT_TRUE(plugin_.start((registry_.empty() ? directory_ : registry_) + "/least.sock"));
        if (!registry_.empty()) return;
        ASSERT_EQ(ScriptedPlugin::register_with(directory_ + "/kubelet.sock", "least.sock"), "");
    }

    const std::string directory_;
    const std::string registry_;  // empty: the classic directory
    ScriptedPlugin plugin_;
};

class OurPlugin final : public Plugin, private kubelet::Decider {
public:
    OurPlugin(const os::Root& root, bool registry) : root_(root) {
        options_.resource = kGpu;
        options_.socket_name = "nvidia-gpu.sock";
        options_.debounce = milliseconds(5);
        options_.poll_interval = milliseconds(50);
        options_.retry_first = milliseconds(20);
        options_.retry_limit = milliseconds(200);
        options_.no_stream_limit = milliseconds(500);
        if (registry) options_.registration = kubelet::Registration::kRegistry;
    }

    void start(std::vector<Device> devices) override {
        plugin_ = std::make_unique<kubelet::DevicePlugin>(root_, options_,
                                                          static_cast<kubelet::Decider&>(*this));
        const auto started = plugin_->start(std::move(devices));
        ASSERT_TRUE(started) << started.error().message;
    }
    void update(std::vector<Device> devices) override { plugin_->update(std::move(devices)); }
    void stop() override { plugin_.reset(); }
    void withdraw() override { plugin_->stop(kubelet::StopReason::kResourceGone); }
    void kubelet_restarted() override {}
    [[nodiscard]] unsigned allocations() const override { return allocations_; }

private:
    std::vector<std::string> prefer(std::span<const std::string> available,
                                    std::span<const std::string> must_include,
                                    std::size_t size) noexcept override {
        std::vector<std::string> chosen(must_include.begin(), must_include.end());
        for (const auto& id : available) {
            if (chosen.size() >= size) break;
            if (std::ranges::find(chosen, id) == chosen.end()) chosen.push_back(id);
        }
        return chosen;
    }
    Result<grant::Grant> allocate(std::span<const std::string> ids) override {
        ++allocations_;
        grant::Grant grant;
        for (const auto& id : ids) grant.environment["DEVICES"] += id + ";";
        return grant;
    }

    const os::Root& root_;
    kubelet::PluginOptions options_;
    std::unique_ptr<kubelet::DevicePlugin> plugin_;
    std::atomic<unsigned> allocations_ = 0;
};

struct Side {
    const char* name;
    bool ours;
    bool registry;
};

class KubeletContract : public KubeletWorld, public testing::WithParamInterface<Side> {
protected:
    void SetUp() override {
        KubeletWorld::SetUp();
        plugin_ = make_plugin();
    }
    std::unique_ptr<Plugin> make_plugin() {
        if (GetParam().ours) return std::make_unique<OurPlugin>(root_, GetParam().registry);
        return std::make_unique<LeastPlugin>(root_, GetParam().registry);
    }
    void restart_kubelet() {
        const auto restarted = kubelet_->restart();
        ASSERT_TRUE(restarted) << restarted.error().message;
        plugin_->kubelet_restarted();
    }

    std::unique_ptr<Plugin> plugin_;
};

// GetCapacity: capacity counts healthy and unhealthy devices, allocatable the healthy ones.
TEST_P(KubeletContract, CapacityIsAllDevicesAndAllocatableTheHealthyOnes) {
    plugin_->start({{"a"}, {"b", false}, {"c"}});
    ASSERT_TRUE(allocatable(2));
    EXPECT_EQ(view().capacity, 3U);
    EXPECT_THAT(view().unhealthy, testing::ElementsAre("b"));
    EXPECT_TRUE(view().connected);
    plugin_->update({{"a"}, {"b"}, {"c"}});
    ASSERT_TRUE(allocatable(3));
    EXPECT_THAT(view().unhealthy, testing::IsEmpty());
}

// genericDeviceUpdateCallback: each message replaces all that was known.
TEST_P(KubeletContract, ADeviceThatIsNotListedAnyMoreIsGone) {
    plugin_->start({{"a"}, {"b"}});
    ASSERT_TRUE(allocatable(2));
    plugin_->update({{"b"}});
    ASSERT_TRUE(allocatable(1));
    EXPECT_EQ(view().capacity, 1U);
}

// markResourceUnhealthy when the stream ends; nothing else until the endpoint's grace has passed.
TEST_P(KubeletContract, WithoutItsPluginAResourceKeepsItsCapacityButNothingIsAllocatable) {
    plugin_->start({{"a"}, {"b"}});
    ASSERT_TRUE(allocatable(2));
    plugin_->stop();
    ASSERT_TRUE(allocatable(0));
    EXPECT_EQ(view().capacity, 2U);
    EXPECT_FALSE(view().connected);
    plugin_ = make_plugin();
    plugin_->start({{"a"}, {"b"}});
    EXPECT_TRUE(allocatable(2));
}

// endpointStopGracePeriod; the key stays in the node's status as "0".
TEST_P(KubeletContract, AResourceWhosePluginStaysAwayIsDroppedAfterTheGrace) {
    options_.stop_grace = milliseconds(0);
    make_kubelet();
    plugin_->start({{"a"}});
    ASSERT_TRUE(allocatable(1));
    plugin_->stop();
    ASSERT_TRUE(allocatable(0));
    EXPECT_EQ(view().capacity, 0U);
    EXPECT_TRUE(kubelet_->resources().contains(kGpu));
}

// An empty list is a list: capacity is 0 at once, not after five minutes.
TEST_P(KubeletContract, AWithdrawnResourceHasNoCapacity) {
    plugin_->start({{"a"}, {"b"}});
    ASSERT_TRUE(allocatable(2));
    plugin_->withdraw();
    ASSERT_TRUE(allocatable(0));
    EXPECT_EQ(view().capacity, 0U);
}

// readCheckpoint: after a restart resources are known with 0 devices until their plugin is back.
// The classic directory's sockets are deleted, plugins_registry is looked through again.
TEST_P(KubeletContract, DevicesComeBackAfterKubeletRestarts) {
    plugin_->start({{"a"}, {"b"}});
    ASSERT_TRUE(allocatable(2));
    for (int round = 0; round < 5; ++round) {
        restart_kubelet();
        ASSERT_TRUE(allocatable(2)) << round;
        EXPECT_EQ(view().capacity, 2U);
    }
}

TEST_P(KubeletContract, DevicesComeBackAfterKubeletWasKilled) {
    plugin_->start({{"a"}, {"b"}});
    ASSERT_TRUE(allocatable(2));
    kubelet_->kill();
    EXPECT_TRUE(std::filesystem::is_socket(kubelet_socket()));
    restart_kubelet();
    EXPECT_TRUE(allocatable(2));
}

TEST_P(KubeletContract, APluginThatWasThereFirstIsFoundByALaterKubelet) {
    if (!GetParam().ours && !GetParam().registry) GTEST_SKIP() << "registers only when told to";
    kubelet_->stop();
    plugin_->start({{"a"}});
    restart_kubelet();
    EXPECT_TRUE(allocatable(1));
}

// podDevices come from the checkpoint; an admitted pod is never asked for again.
TEST_P(KubeletContract, PodsKeepTheirDevicesOverRestartsOfBothSides) {
    plugin_->start({{"a"}, {"b"}});
    ASSERT_TRUE(allocatable(2));
    const auto first = kubelet_->admit(pod("one", 1));
    ASSERT_TRUE(first) << first.error().message;
    const auto held = kubelet_->holders();
    EXPECT_EQ(held.size(), 1U);

    restart_kubelet();
    EXPECT_EQ(kubelet_->holders(), held);
    const auto again = kubelet_->admit(pod("one", 1));
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(again->at(0).grant, first->at(0).grant);
    EXPECT_EQ(again->at(0).devices, first->at(0).devices);
    ASSERT_TRUE(allocatable(2));
    EXPECT_EQ(plugin_->allocations(), 1U);

    plugin_->stop();
    ASSERT_TRUE(allocatable(0));
    plugin_ = make_plugin();
    plugin_->start({{"a"}, {"b"}});
    ASSERT_TRUE(allocatable(2));
    EXPECT_EQ(kubelet_->holders(), held);
    const auto second = kubelet_->admit(pod("two", 1));
    ASSERT_TRUE(second) << second.error().message;
    EXPECT_NE(second->at(0).devices, first->at(0).devices);
}

// kubelet never evicts for a device.
TEST_P(KubeletContract, ADeviceThatFailsStaysWithItsPod) {
    plugin_->start({{"a"}});
    ASSERT_TRUE(allocatable(1));
    ASSERT_TRUE(kubelet_->admit(pod("one", 1)));
    plugin_->update({{"a", false}});
    ASSERT_TRUE(allocatable(0));
    EXPECT_EQ(kubelet_->holders().at("a"), "one/main");
    EXPECT_EQ(view().allocated, 1U);
    const auto refused = kubelet_->admit(pod("two", 1));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().message,
              "UnexpectedAdmissionError: Allocate failed due to no healthy devices present; cannot "
              "allocate unhealthy devices nvidia.com/gpu, which is unexpected");
}

// Admission is serial; a device is in allocatedDevices before the plugin is asked.
TEST_P(KubeletContract, NoDeviceIsGivenTwice) {
    constexpr unsigned kDevices = 16;
    std::vector<Device> devices;
    for (unsigned i = 0; i < kDevices; ++i) devices.push_back({"d" + std::to_string(i)});
    plugin_->start(devices);
    ASSERT_TRUE(allocatable(kDevices));
    std::mutex mutex;
    std::multiset<std::string> given;
    unsigned refused = 0;
    {
        std::vector<std::jthread> threads;
        for (int t = 0; t < 4; ++t) {
            threads.emplace_back([&, t] {
                for (int i = 0; i < 5; ++i) {
                    const auto grants =
                        kubelet_->admit(pod(std::to_string(t) + "-" + std::to_string(i), 1));
                    const std::lock_guard lock(mutex);
                    if (grants) given.insert(grants->at(0).devices.at(kGpu).at(0));
                    if (!grants) ++refused;
                }
            });
        }
    }
    EXPECT_EQ(given.size(), kDevices);
    EXPECT_EQ(std::set<std::string>(given.begin(), given.end()).size(), kDevices);
    EXPECT_EQ(refused, 4U);
    const auto full = kubelet_->admit(pod("late", 2));
    ASSERT_FALSE(full);
    EXPECT_EQ(full.error().code, ErrorCode::kConflict);
    EXPECT_EQ(full.error().message,
              "UnexpectedAdmissionError: Allocate failed due to requested number of devices "
              "unavailable for nvidia.com/gpu. Requested: 2, Available: 0, which is unexpected");
    kubelet_->remove("0-0");
    EXPECT_TRUE(kubelet_->admit(pod("late", 1)));
}

// devicesToReuse: an init container's devices go to the pod's next containers, unless it stays.
TEST_P(KubeletContract, InitContainersLeaveTheirDevicesToTheContainers) {
    plugin_->start({{"a"}, {"b"}, {"c"}});
    ASSERT_TRUE(allocatable(3));
    sim::PodRequest request = pod("one", 1);
    request.containers.push_back({.name = "second", .limits = {{kGpu, 1}}});
    request.init_containers = {{.name = "prepare", .limits = {{kGpu, 2}}},
                               {.name = "sidecar", .limits = {{kGpu, 1}}, .restartable = true}};
    const auto grants = kubelet_->admit(request);
    ASSERT_TRUE(grants) << grants.error().message;
    std::map<std::string, std::set<std::string>> held;
    for (const auto& grant : *grants) {
        const auto& ids = grant.devices.at(kGpu);
        held[grant.name] = {ids.begin(), ids.end()};
    }
    EXPECT_EQ(held["prepare"].size(), 2U);
    EXPECT_EQ(view().allocated, 3U);  // the sidecar keeps one of the two, so a third is needed
    std::set<std::string> running = held["sidecar"];
    running.insert(held["main"].begin(), held["main"].end());
    running.insert(held["second"].begin(), held["second"].end());
    EXPECT_EQ(running.size(), 3U);
}

INSTANTIATE_TEST_SUITE_P(Sides, KubeletContract,
                         testing::Values(Side{"Least", false, false},
                                         Side{"LeastInRegistry", false, true},
                                         Side{"Ours", true, false},
                                         Side{"OursInRegistry", true, true}),
                         [](const auto& side) { return std::string(side.param.name); });

}  // namespace
}  // namespace aliquot::contract
