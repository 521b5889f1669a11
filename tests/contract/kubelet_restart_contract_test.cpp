// SPDX-License-Identifier: Apache-2.0
//
// Our plugin beside a kubelet that restarts again and again, on a machine with more to do than it has cores.
#include <random>

#include "kubelet/device_plugin.h"
#include "tests/busy_processes.h"
#include "tests/contract/kubelet_world.h"

namespace aliquot::contract {
namespace {

class AnyDecider final : public kubelet::Decider {
public:
    std::vector<std::string> prefer(std::span<const std::string> available,
                                    std::span<const std::string> /*must_include*/,
                                    std::size_t size) noexcept override {
        return {available.begin(),
                available.begin() + static_cast<std::ptrdiff_t>(std::min(size, available.size()))};
    }
    Result<grant::Grant> allocate(std::span<const std::string> /*ids*/) override {
        return grant::Grant{};
    }
};

class RestartsUnderLoad : public testing::TestWithParam<unsigned> {
protected:
    static constexpr std::size_t kLoad = 20;
    static constexpr int kRestarts = 12;

    void restart() {
        switch (random_() % 3) {
            case 0:
                kubelet_->stop();
                break;
            case 1:
                kubelet_->kill();
                break;
            default:  // another process: it counts from nothing
                kubelet_ = std::make_unique<sim::Kubelet>(root_, options_);
                before_ = 0;
        }
        ASSERT_TRUE(kubelet_->start());
    }
    [[nodiscard]] std::uint64_t registrations() const {
        return kubelet_->registrations() - before_;
    }
    [[nodiscard]] bool back() const {
        const auto view = kubelet_->resources()[kGpu];
        return registrations() > 0 && view.streams == 1 && view.connected && view.allocatable == 2;
    }

    const BusyProcesses load_{kLoad};
    std::mt19937_64 random_{GetParam()};
    os::TemporaryDirectory temporary_;
    os::Root root_{temporary_.path()};
    sim::KubeletOptions options_;
    std::unique_ptr<sim::Kubelet> kubelet_ = std::make_unique<sim::Kubelet>(root_, options_);
    std::uint64_t before_ = 0;  // registrations until the last restart
    AnyDecider decider_;
};

TEST_P(RestartsUnderLoad, EachIsOneRegistration) {
    ASSERT_TRUE(kubelet_->start());
    kubelet::DevicePlugin plugin(
        root_, {.resource = kGpu, .socket_name = "nvidia-gpu.sock", .paths = {}}, decider_);
    ASSERT_TRUE(plugin.start({{"a"}, {"b"}}));
    for (int i = 0; i < kRestarts; ++i) {
        const auto deadline = std::chrono::steady_clock::now() + kPatience;
        while (!back() && std::chrono::steady_clock::now() < deadline)
            std::this_thread::sleep_for(std::chrono::milliseconds(2));
        ASSERT_TRUE(back()) << i << ": " << registrations() << " registrations";
        // What an administrator does to the socket is no restart either.
        std::filesystem::permissions(root_.resolve(kDirectory + "/kubelet.sock"),
                                     std::filesystem::perms(0700 + i));
        std::this_thread::sleep_for(std::chrono::milliseconds(random_() % 60));
        ASSERT_EQ(registrations(), 1U) << "after restart " << i;
        before_ = kubelet_->registrations();
        ASSERT_NO_FATAL_FAILURE(restart());
    }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RestartsUnderLoad, testing::Range(1U, 6U));

}  // namespace
}  // namespace aliquot::contract
