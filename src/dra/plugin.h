// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "dra/keeper.h"
#include "os/root.h"

namespace aliquot::dra {

/// Where kubelet finds us. Host paths.
struct PluginPaths {
    std::string plugins_registry = "/var/lib/kubelet/plugins_registry";
    std::string plugins = "/var/lib/kubelet/plugins";
    /// Of our own pod: two instances are there during a rolling update, and a path that is in use must not be
    /// registered again. Empty: one instance.
    std::string pod_uid;

    /// With a pod uid that makes the path longer than a socket address, a short hash stands for it.
    [[nodiscard]] std::string service_socket() const;
    [[nodiscard]] std::string registration_socket() const;
};

/// The driver's two sockets: serves claims, and lets kubelet's plugin watcher find us. Thread-safe.
class Plugin {
public:
    struct Status {
        bool serving = false;
        std::uint64_t registrations = 0;
        std::string last_error;  // of the last registration; empty after a good one
    };

    /// root, keeper   must outlive this
    Plugin(const os::Root& root, PluginPaths paths, Keeper& keeper);
    ~Plugin();  // removes the sockets: a successor cannot

    /// Begins to serve on a thread of its own; a directory that is not there yet is waited for.
    void start();

    /// What the health streams tell.
    void tell_health(const std::string& pool, std::span<const Device> devices);

    [[nodiscard]] Status status() const;

private:
    class Implementation;
    std::unique_ptr<Implementation> implementation_;
};

}  // namespace aliquot::dra
