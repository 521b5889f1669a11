// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace aliquot::kubelet {

/// Where kubelet's sockets are. All are host paths beneath `root`.
struct KubeletPaths {
    std::string kubelet_socket = "/var/lib/kubelet/device-plugins/kubelet.sock";
    std::string plugins_registry = "/var/lib/kubelet/plugins_registry";
    std::string pod_resources_socket = "/var/lib/kubelet/pod-resources/kubelet.sock";
    [[nodiscard]] std::string plugin_directory() const;  // of kubelet_socket
};

enum class Registration : std::uint8_t {
    kRegister,  // call Register on kubelet.sock; the directory every operator mounts
    kRegistry,  // a socket in plugins_registry that kubelet finds by itself
};

struct PluginOptions {
    std::string resource;     // "nvidia.com/gpu"
    std::string socket_name;  // "nvidia-gpu.sock"
    KubeletPaths paths;
    Registration registration = Registration::kRegister;
    std::chrono::milliseconds debounce{100};  // between a change of devices and its message
    std::chrono::milliseconds register_timeout{10'000};
    std::chrono::milliseconds poll_interval{1000};      // looks at kubelet.sock besides inotify
    std::chrono::milliseconds no_stream_limit{15'000};  // registered but nobody listens: again
    std::chrono::milliseconds retry_first{1000};        // after a failure; doubles
    std::chrono::milliseconds retry_limit{30'000};
};

/// For status pages, metrics and tests.
struct PluginStatus {
    enum class State : std::uint8_t { kStarting, kWaitingForKubelet, kServing, kStopped };
    State state = State::kStarting;
    unsigned streams = 0;             // open ListAndWatch streams
    std::uint64_t registrations = 0;  // successful ones
    std::uint64_t allocations = 0;
    std::string last_error;  // of the last failed registration; empty after a good one
};

}  // namespace aliquot::kubelet
