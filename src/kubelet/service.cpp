// SPDX-License-Identifier: Apache-2.0
#include "kubelet/service.h"

#include <grpcpp/grpcpp.h>

#include "api/kubelet/deviceplugin.grpc.pb.h"
#include "base/log.h"
#include "kubelet/grpc_words.h"
#include "kubelet/to_proto.h"

namespace aliquot::kubelet {
namespace {

// Reactions instead of blocking calls: a stream then costs no thread, and any number of resources
// share gRPC's few. The decider answers on the thread that read the request.
using Base = v1beta1::DevicePlugin::WithCallbackMethod_GetDevicePluginOptions<
    v1beta1::DevicePlugin::WithRawCallbackMethod_ListAndWatch<
        v1beta1::DevicePlugin::WithCallbackMethod_GetPreferredAllocation<
            v1beta1::DevicePlugin::WithCallbackMethod_Allocate<
                v1beta1::DevicePlugin::WithCallbackMethod_PreStartContainer<
                    v1beta1::DevicePlugin::Service>>>>>;

grpc::ServerUnaryReactor* answer(grpc::CallbackServerContext* context, const grpc::Status& status) {
    auto* reactor = context->DefaultReactor();
    reactor->Finish(status);
    return reactor;
}

class DevicePluginService final : public Base {
public:
    DevicePluginService(std::string resource, Decider& decider, Streams& streams,
                        ServiceEvents& events)
        : resource_(std::move(resource)), decider_(decider), streams_(streams), events_(events) {}

    grpc::ServerUnaryReactor* GetDevicePluginOptions(  // NOLINT(readability-identifier-naming)
        grpc::CallbackServerContext* context, const v1beta1::Empty* /*request*/,
        v1beta1::DevicePluginOptions* response) override {
        *response = plugin_options();
        return answer(context, grpc::Status::OK);
    }

    StreamReactor* ListAndWatch(grpc::CallbackServerContext* /*context*/,  // NOLINT(*naming)
                                const grpc::ByteBuffer* /*request*/) override {
        return streams_.open();
    }

    grpc::ServerUnaryReactor* GetPreferredAllocation(  // NOLINT(readability-identifier-naming)
        grpc::CallbackServerContext* context, const v1beta1::PreferredAllocationRequest* request,
        v1beta1::PreferredAllocationResponse* response) override {
        *response = prefer(decider_, *request);
        return answer(context, grpc::Status::OK);
    }

    grpc::ServerUnaryReactor* Allocate(grpc::CallbackServerContext* context,  // NOLINT(*naming)
                                       const v1beta1::AllocateRequest* request,
                                       v1beta1::AllocateResponse* response) override {
        auto decided = allocate(decider_, resource_, *request);
        if (!decided) {
            log::warning("plugin.refused",
                         {{"resource", resource_}, {"reason", decided.error().message}});
            return answer(context, to_status(decided.error()));
        }
        *response = *std::move(decided);
        events_.on_allocation();
        return answer(context, grpc::Status::OK);
    }

    grpc::ServerUnaryReactor* PreStartContainer(  // NOLINT(readability-identifier-naming)
        grpc::CallbackServerContext* context, const v1beta1::PreStartContainerRequest* /*request*/,
        v1beta1::PreStartContainerResponse* /*response*/) override {
        return answer(context, grpc::Status::OK);
    }

private:
    const std::string resource_;
    Decider& decider_;
    Streams& streams_;
    ServiceEvents& events_;
};

}  // namespace

std::unique_ptr<grpc::Service> make_device_plugin_service(std::string resource, Decider& decider,
                                                          Streams& streams, ServiceEvents& events) {
    return std::make_unique<DevicePluginService>(std::move(resource), decider, streams, events);
}

}  // namespace aliquot::kubelet
