// SPDX-License-Identifier: Apache-2.0
#include "kubelet/service.h"

#include <utility>

#include "api/kubelet/deviceplugin.pb.h"
#include "api/kubelet/pluginregistration.pb.h"
#include "base/log.h"
#include "kubelet/to_proto.h"
#include "kubelet/unary.h"

namespace aliquot::kubelet {
namespace {

rpc::Status allocate_all(const std::string& resource, Decider& decider, ServiceEvents& events,
                         const v1beta1::AllocateRequest& request,
                         v1beta1::AllocateResponse& response) {
    auto decided = allocate(decider, resource, request);
    if (!decided) {
        log::warning("plugin.refused",
                     {{"resource", resource}, {"reason", decided.error().message}});
        return rpc::to_status(decided.error());
    }
    response = *std::move(decided);
    events.on_allocation();
    return {};
}

}  // namespace

std::vector<rpc::Method> device_plugin_methods(const std::string& resource, Decider& decider,
                                               Streams& streams, ServiceEvents& events) {
    using namespace v1beta1;  // NOLINT(google-build-using-namespace)
    std::vector<rpc::Method> methods;
    methods.push_back({"/v1beta1.DevicePlugin/GetDevicePluginOptions",
                       unary<Empty, DevicePluginOptions>(
                           [](const Empty& /*request*/, DevicePluginOptions& response) {
                               response = plugin_options();
                               return rpc::Status{};
                           })});
    methods.push_back({"/v1beta1.DevicePlugin/ListAndWatch", &streams});
    methods.push_back({"/v1beta1.DevicePlugin/GetPreferredAllocation",
                       unary<PreferredAllocationRequest, PreferredAllocationResponse>(
                           [&decider](const PreferredAllocationRequest& request,
                                      PreferredAllocationResponse& response) {
                               response = prefer(decider, request);
                               return rpc::Status{};
                           })});
    methods.push_back({"/v1beta1.DevicePlugin/Allocate",
                       unary<AllocateRequest, AllocateResponse>(
                           [resource, &decider, &events](const AllocateRequest& request,
                                                         AllocateResponse& response) {
                               return allocate_all(resource, decider, events, request, response);
                           })});
    methods.push_back({"/v1beta1.DevicePlugin/PreStartContainer",
                       unary<PreStartContainerRequest, PreStartContainerResponse>(
                           [](const PreStartContainerRequest& /*request*/,
                              PreStartContainerResponse& /*response*/) { return rpc::Status{}; })});
    return methods;
}

std::vector<rpc::Method> registry_methods(const std::string& resource, ServiceEvents& events) {
    using namespace pluginregistration;  // NOLINT(google-build-using-namespace)
    std::vector<rpc::Method> methods;
    methods.push_back({"/pluginregistration.Registration/GetInfo",
                       unary<InfoRequest, PluginInfo>(
                           [resource](const InfoRequest& /*request*/, PluginInfo& response) {
                               response.set_type("DevicePlugin");
                               response.set_name(resource);
                               // No endpoint: the plugin is on this socket. A path would be ours,
                               // not kubelet's, where the directory is mounted elsewhere.
                               response.add_supported_versions("v1beta1");
                               return rpc::Status{};
                           })});
    methods.push_back({"/pluginregistration.Registration/NotifyRegistrationStatus",
                       unary<RegistrationStatus, RegistrationStatusResponse>(
                           [&events](const RegistrationStatus& request,
                                     RegistrationStatusResponse& /*response*/) {
                               std::string error;
                               if (!request.plugin_registered())
                                   error = request.error().empty() ? "kubelet gave no reason"
                                                                   : request.error();
                               events.on_registry_status(error);
                               return rpc::Status{};
                           })});
    return methods;
}

}  // namespace aliquot::kubelet
