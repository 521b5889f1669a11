// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "kubelet/decider.h"
#include "kubelet/streams.h"
#include "rpc/server.h"

namespace aliquot::kubelet {

/// What a plugin wants to know of the calls it serves. Called from the server's thread.
class ServiceEvents {
public:
    virtual ~ServiceEvents() = default;
    virtual void on_allocation() = 0;

    /// What kubelet's plugin watcher says. error   its words; empty: it has registered us
    virtual void on_registry_status(const std::string& error) = 0;
};

/// v1beta1.DevicePlugin. What is given must outlive the server.
std::vector<rpc::Method> device_plugin_methods(const std::string& resource, Decider& decider,
                                               Streams& streams, ServiceEvents& events);

/// pluginregistration.Registration, for a socket that serves the plugin as well.
std::vector<rpc::Method> registry_methods(const std::string& resource, ServiceEvents& events);

}  // namespace aliquot::kubelet
