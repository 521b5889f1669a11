// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "grant/grant.h"
#include "kubelet/decider.h"
#include "kubelet/plugin_options.h"
#include "os/clock.h"
#include "os/root.h"

/// One resource of this node towards kubelet: the device plugin v1beta1 server, its registration
/// and the state machine that keeps both alive over kubelet restarts.
/// source   kubelet device manager 1.26 to 1.36; NVIDIA k8s-device-plugin for the socket names
namespace aliquot::kubelet {

/// Why a plugin stops.
enum class StopReason : std::uint8_t {
    kRestart,       // capacity stays; kubelet keeps it for five minutes
    kResourceGone,  // an empty list is sent first, so that capacity drops to 0 at once
};

/// Serves one resource until destroyed. Owns its threads and its gRPC server. Thread-safe.
class DevicePlugin {
public:
    /// root, decider   must outlive the plugin
    DevicePlugin(const os::Root& root, PluginOptions options, Decider& decider);
    ~DevicePlugin();  // as stop(StopReason::kRestart)

    /// Listens and starts registering; returns when the socket answers, not when kubelet knows us.
    /// errors   kPermission, kUnavailable: the socket cannot be made
    Result<Done> start(std::vector<grant::Device> devices);

    /// The new full list. A no-op when nothing changed.
    void update(std::vector<grant::Device> devices);

    /// Ends the streams, stops the server, removes the socket.
    void stop(StopReason reason);

    [[nodiscard]] PluginStatus status() const;

private:
    class Implementation;
    std::unique_ptr<Implementation> implementation_;
};

}  // namespace aliquot::kubelet
