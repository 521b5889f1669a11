// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "kubelet/device_plugin.h"
#include "kubelet/streams.h"

namespace grpc {
class Service;
}

namespace aliquot::kubelet {

/// What a plugin wants to know of the calls it serves. Called from gRPC threads.
class ServiceEvents {
public:
    virtual ~ServiceEvents() = default;
    virtual void on_allocation() = 0;

    /// What kubelet's plugin watcher says. error   its words; empty: it has registered us
    virtual void on_registry_status(const std::string& error) = 0;
};

/// The gRPC service v1beta1.DevicePlugin. What is given must outlive the service.
std::unique_ptr<grpc::Service> make_device_plugin_service(std::string resource, Decider& decider,
                                                          Streams& streams, ServiceEvents& events);

/// The gRPC service pluginregistration.Registration, for a socket that serves the plugin as well.
std::unique_ptr<grpc::Service> make_registry_service(std::string resource, ServiceEvents& events);

}  // namespace aliquot::kubelet
