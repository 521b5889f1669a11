// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "os/root.h"
#include "os/temporary_directory.h"
#include "sim/kubelet/kubelet.h"

namespace aliquot::contract {

inline constexpr const char* kGpu = "nvidia.com/gpu";
// NOLINTBEGIN(readability-identifier-naming): constants, but std::string for "+"
inline const std::string kDirectory = "/var/lib/kubelet/device-plugins";
inline const std::string kRegistry = "/var/lib/kubelet/plugins_registry";
// NOLINTEND(readability-identifier-naming)
inline constexpr auto kPatience = std::chrono::seconds(60);  // a limit, not an expectation

inline sim::PodRequest pod(const std::string& uid, unsigned count,
                           const std::string& resource = kGpu) {
    return {.uid = uid,
            .name = uid,
            .init_containers = {},
            .containers = {{.name = "main", .limits = {{resource, count}}}}};
}

/// A node with a kubelet in a tree of its own.
class KubeletWorld : public testing::Test {
protected:
    KubeletWorld() { options_.reconcile_interval = std::chrono::milliseconds(20); }
    void SetUp() override { make_kubelet(); }

    void make_kubelet() {
        kubelet_.reset();
        kubelet_ = std::make_unique<sim::Kubelet>(root_, options_);
        const auto started = kubelet_->start();
        ASSERT_TRUE(started) << started.error().message;
    }

    [[nodiscard]] std::string path(const std::string& host_path) const {
        return root_.resolve(host_path).string();
    }
    [[nodiscard]] std::string kubelet_socket() const { return path(kDirectory + "/kubelet.sock"); }
    [[nodiscard]] std::string plugin_socket() const { return path(kDirectory + "/test.sock"); }

    [[nodiscard]] sim::ResourceView view(const std::string& resource = kGpu) const {
        const auto all = kubelet_->resources();
        const auto found = all.find(resource);
        return found == all.end() ? sim::ResourceView{} : found->second;
    }
    [[nodiscard]] bool allocatable(unsigned count, const std::string& resource = kGpu) const {
        return kubelet_->wait_allocatable(resource, count, kPatience);
    }

    /// Waits until that many ListAndWatch streams are open.
    [[nodiscard]] bool streams(unsigned count) const {
        const auto deadline = std::chrono::steady_clock::now() + kPatience;
        while (view().streams != count) {
            if (std::chrono::steady_clock::now() > deadline) return false;
            std::this_thread::sleep_for(std::chrono::milliseconds(2));
        }
        return true;
    }

    os::TemporaryDirectory temporary_;
    os::Root root_{temporary_.path()};
    sim::KubeletOptions options_;
    std::unique_ptr<sim::Kubelet> kubelet_;
};

}  // namespace aliquot::contract
