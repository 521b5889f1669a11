// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "kubelet/grant.h"
#include "os/clock.h"
#include "os/root.h"

/// One resource of this node towards kubelet: the device plugin v1beta1 server, its registration
/// and the state machine that keeps both alive over kubelet restarts.
/// source   kubelet device manager 1.26 to 1.36; NVIDIA k8s-device-plugin for the socket names
namespace aliquot::kubelet {

/// Decides for one resource. Called from gRPC threads: thread-safe, and quick, since kubelet admits
/// pods one after the other and sets no deadline (no driver call, no network).
class Decider {
public:
    virtual ~Decider() = default;

    /// Chooses `size` of `available`, with all of `must_include`. It cannot fail: an error here
    /// would fail the pod for good, so the worst answer is an empty one (kubelet then chooses by
    /// itself).
    virtual std::vector<std::string> prefer(std::span<const std::string> available,
                                            std::span<const std::string> must_include,
                                            std::size_t size) noexcept = 0;

    /// errors   kInvalidInput: a request that the configuration forbids; kNotFound: an id that is
    /// not
    ///          ours; kUnavailable: cannot be granted now. All fail the pod with the message.
    virtual Result<Grant> allocate(std::span<const std::string> ids) = 0;
};

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

/// Serves one resource until destroyed. Owns its threads and its gRPC server. Thread-safe.
class DevicePlugin {
public:
    /// root, decider   must outlive the plugin
    DevicePlugin(const os::Root& root, PluginOptions options, Decider& decider);
    ~DevicePlugin();  // as stop(false)

    /// Listens and starts registering; returns when the socket answers, not when kubelet knows us.
    /// errors   kPermission, kUnavailable: the socket cannot be made
    Result<Done> start(std::vector<Device> devices);

    /// The new full list. A no-op when nothing changed.
    void update(std::vector<Device> devices);

    /// Ends the streams, stops the server, removes the socket.
    /// withdraw   first send an empty list, so that capacity drops to 0 at once instead of after
    ///            kubelet's five minutes: for a resource that goes away, not for a restart
    void stop(bool withdraw);

    [[nodiscard]] PluginStatus status() const;

private:
    class Implementation;
    std::unique_ptr<Implementation> implementation_;
};

}  // namespace aliquot::kubelet
