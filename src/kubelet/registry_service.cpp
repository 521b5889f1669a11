// SPDX-License-Identifier: Apache-2.0
#include <grpcpp/grpcpp.h>

#include "api/kubelet/pluginregistration.grpc.pb.h"
#include "kubelet/service.h"

namespace aliquot::kubelet {
namespace {

class RegistryService final : public pluginregistration::Registration::CallbackService {
public:
    RegistryService(std::string resource, ServiceEvents& events)
        : resource_(std::move(resource)), events_(events) {}

    grpc::ServerUnaryReactor* GetInfo(grpc::CallbackServerContext* context,  // NOLINT(*naming)
                                      const pluginregistration::InfoRequest* /*request*/,
                                      pluginregistration::PluginInfo* response) override {
        response->set_type("DevicePlugin");
        response->set_name(resource_);
        // No endpoint: the plugin is on this socket. A path would be ours, not kubelet's, where
        // the directory is mounted elsewhere.
        response->add_supported_versions("v1beta1");
        auto* reactor = context->DefaultReactor();
        reactor->Finish(grpc::Status::OK);
        return reactor;
    }

    grpc::ServerUnaryReactor* NotifyRegistrationStatus(  // NOLINT(readability-identifier-naming)
        grpc::CallbackServerContext* context, const pluginregistration::RegistrationStatus* request,
        pluginregistration::RegistrationStatusResponse* /*response*/) override {
        std::string error;
        if (!request->plugin_registered())
            error = request->error().empty() ? "kubelet gave no reason" : request->error();
        events_.on_registry_status(error);
        auto* reactor = context->DefaultReactor();
        reactor->Finish(grpc::Status::OK);
        return reactor;
    }

private:
    const std::string resource_;
    ServiceEvents& events_;
};

}  // namespace

std::unique_ptr<grpc::Service> make_registry_service(std::string resource, ServiceEvents& events) {
    return std::make_unique<RegistryService>(std::move(resource), events);
}

}  // namespace aliquot::kubelet
