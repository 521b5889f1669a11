// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "kubelet/call_queue.h"
#include "kubelet/decider.h"
#include "kubelet/plugin_options.h"
#include "kubelet/streams.h"

namespace grpc {
class Service;
}

namespace aliquot::kubelet {

/// What a plugin wants to know of the calls it serves. Called from the server's thread.
class ServiceEvents {
public:
    virtual ~ServiceEvents() = default;
    virtual void on_allocation() = 0;

    /// What kubelet's plugin watcher says. error   its words; empty: it has registered us
    virtual void on_registry_status(const std::string& error) = 0;
};

/// A gRPC service that takes its calls from a queue.
class Service {
public:
    virtual ~Service() = default;
    virtual grpc::Service& grpc_service() = 0;

    /// Takes calls from now on. Once, after the server has started.
    virtual void listen(CallQueue& queue) = 0;
};

/// v1beta1.DevicePlugin. What is given must outlive the service.
std::unique_ptr<Service> make_device_plugin_service(std::string resource, Decider& decider,
                                                    Streams& streams, ServiceEvents& events);

/// pluginregistration.Registration, for a socket that serves the plugin as well.
std::unique_ptr<Service> make_registry_service(std::string resource, ServiceEvents& events);

}  // namespace aliquot::kubelet
