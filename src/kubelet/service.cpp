// SPDX-License-Identifier: Apache-2.0
#include "kubelet/service.h"

#include <grpcpp/grpcpp.h>

#include <functional>
#include <optional>
#include <utility>

#include "api/kubelet/deviceplugin.grpc.pb.h"
#include "api/kubelet/pluginregistration.grpc.pb.h"
#include "base/log.h"
#include "kubelet/grpc_words.h"
#include "kubelet/to_proto.h"

namespace aliquot::kubelet {
namespace {

/// The calls of one method, one after the other: waits for a call, answers, waits for the next. It
/// keeps its request, so that a call with 800 ids does not allocate 800 strings each time; an
/// unusually large one is given back. Deletes itself when its queue is closed.
template <class Request, class Response>
class UnaryCalls final : public Event {
public:
    using Writer = grpc::ServerAsyncResponseWriter<Response>;
    using Await = std::function<void(grpc::ServerContext*, Request*, Writer*,
                                     grpc::ServerCompletionQueue&, Event*)>;
    using Answer = std::function<grpc::Status(const Request&, Response&)>;

    static void listen(CallQueue& queue, Await await, Answer answer) {
        (new UnaryCalls(queue, std::move(await), std::move(answer)))->wait();
    }

    void happen(bool ok) override {
        if (std::exchange(answered_, false)) {  // sent, or nobody is there to read it
            wait();
            return;
        }
        if (!ok) {  // the server has ended
            delete this;
            return;
        }
        Response response;
        const auto status = answer_(*request_, response);
        answered_ = queue_.begin([&](grpc::ServerCompletionQueue& /*queue*/) {
            if (status.ok())
                call_->writer.Finish(response, status, this);
            else
                call_->writer.FinishWithError(status, this);
        });
        if (!answered_) delete this;
    }

private:
    static constexpr std::size_t kKeptBytes = 256 << 10;

    struct Call {
        grpc::ServerContext context;
        Writer writer{&context};
    };

    UnaryCalls(CallQueue& queue, Await await, Answer answer)
        : queue_(queue), await_(std::move(await)), answer_(std::move(answer)) {}

    void wait() {
        call_.emplace();
        if (!request_ || request_->ByteSizeLong() > kKeptBytes) request_.emplace();
        request_->Clear();
        if (!queue_.begin([&](grpc::ServerCompletionQueue& queue) {
                await_(&call_->context, &*request_, &call_->writer, queue, this);
            }))
            delete this;
    }

    CallQueue& queue_;
    const Await await_;
    const Answer answer_;
    std::optional<Call> call_;
    std::optional<Request> request_;
    bool answered_ = false;  // the answer is on its way
};

/// UnaryCalls of the method that `request` (a generated Request... function) waits for.
template <class Generated, class Request, class Response>
void serve(CallQueue& queue, Generated& service,
           void (Generated::*request)(grpc::ServerContext*, Request*,
                                      grpc::ServerAsyncResponseWriter<Response>*,
                                      grpc::CompletionQueue*, grpc::ServerCompletionQueue*, void*),
           std::function<grpc::Status(const Request&, Response&)> answer) {
    using Calls = UnaryCalls<Request, Response>;
    Calls::listen(
        queue,
        [&service, request](grpc::ServerContext* context, Request* message,
                            typename Calls::Writer* writer, grpc::ServerCompletionQueue& on,
                            Event* event) {
            (service.*request)(context, message, writer, &on, &on, event);
        },
        std::move(answer));
}

using DevicePluginBase = v1beta1::DevicePlugin::WithAsyncMethod_GetDevicePluginOptions<
    v1beta1::DevicePlugin::WithRawMethod_ListAndWatch<
        v1beta1::DevicePlugin::WithAsyncMethod_GetPreferredAllocation<
            v1beta1::DevicePlugin::WithAsyncMethod_Allocate<
                v1beta1::DevicePlugin::WithAsyncMethod_PreStartContainer<
                    v1beta1::DevicePlugin::Service>>>>>;

class DevicePluginService final : public Service {
public:
    DevicePluginService(std::string resource, Decider& decider, Streams& streams,
                        ServiceEvents& events)
        : resource_(std::move(resource)), decider_(decider), streams_(streams), events_(events) {}

    grpc::Service& grpc_service() override { return service_; }

    void listen(CallQueue& queue) override {
        using namespace v1beta1;  // NOLINT(google-build-using-namespace)
        using Base = DevicePluginBase;
        serve<Base, Empty, DevicePluginOptions>(
            queue, service_, &Base::RequestGetDevicePluginOptions,
            [](const Empty& /*request*/, DevicePluginOptions& response) {
                response = plugin_options();
                return grpc::Status::OK;
            });
        streams_.listen(queue, [this](grpc::ServerContext* context, grpc::ByteBuffer* request,
                                      grpc::ServerAsyncWriter<grpc::ByteBuffer>* writer,
                                      grpc::ServerCompletionQueue& on, Event* event) {
            service_.RequestListAndWatch(context, request, writer, &on, &on, event);
        });
        serve<Base, PreferredAllocationRequest, PreferredAllocationResponse>(
            queue, service_, &Base::RequestGetPreferredAllocation,
            [this](const PreferredAllocationRequest& request,
                   PreferredAllocationResponse& response) {
                response = prefer(decider_, request);
                return grpc::Status::OK;
            });
        serve<Base, AllocateRequest, AllocateResponse>(
            queue, service_, &Base::RequestAllocate,
            [this](const AllocateRequest& request, AllocateResponse& response) {
                return answer(request, response);
            });
        serve<Base, PreStartContainerRequest, PreStartContainerResponse>(
            queue, service_, &Base::RequestPreStartContainer,
            [](const PreStartContainerRequest& /*request*/,
               PreStartContainerResponse& /*response*/) { return grpc::Status::OK; });
    }

private:
    grpc::Status answer(const v1beta1::AllocateRequest& request,
                        v1beta1::AllocateResponse& response) {
        auto decided = allocate(decider_, resource_, request);
        if (!decided) {
            log::warning("plugin.refused",
                         {{"resource", resource_}, {"reason", decided.error().message}});
            return to_status(decided.error());
        }
        response = *std::move(decided);
        events_.on_allocation();
        return grpc::Status::OK;
    }

    const std::string resource_;
    Decider& decider_;
    Streams& streams_;
    ServiceEvents& events_;
    DevicePluginBase service_;
};

class RegistryService final : public Service {
public:
    RegistryService(std::string resource, ServiceEvents& events)
        : resource_(std::move(resource)), events_(events) {}

    grpc::Service& grpc_service() override { return service_; }

    void listen(CallQueue& queue) override {
        using namespace pluginregistration;  // NOLINT(google-build-using-namespace)
        using Base = pluginregistration::Registration::AsyncService;
        const auto info = [this](const InfoRequest& /*request*/, PluginInfo& response) {
            response.set_type("DevicePlugin");
            response.set_name(resource_);
            // No endpoint: the plugin is on this socket. A path would be ours, not kubelet's,
            // where the directory is mounted elsewhere.
            response.add_supported_versions("v1beta1");
            return grpc::Status::OK;
        };
        const auto status = [this](const RegistrationStatus& request,
                                   RegistrationStatusResponse& /*response*/) {
            std::string error;
            if (!request.plugin_registered())
                error = request.error().empty() ? "kubelet gave no reason" : request.error();
            events_.on_registry_status(error);
            return grpc::Status::OK;
        };
        serve<Base, InfoRequest, PluginInfo>(queue, service_, &Base::RequestGetInfo, info);
        serve<Base, RegistrationStatus, RegistrationStatusResponse>(
            queue, service_, &Base::RequestNotifyRegistrationStatus, status);
    }

private:
    const std::string resource_;
    ServiceEvents& events_;
    pluginregistration::Registration::AsyncService service_;
};

}  // namespace

std::unique_ptr<Service> make_device_plugin_service(std::string resource, Decider& decider,
                                                    Streams& streams, ServiceEvents& events) {
    return std::make_unique<DevicePluginService>(std::move(resource), decider, streams, events);
}

std::unique_ptr<Service> make_registry_service(std::string resource, ServiceEvents& events) {
    return std::make_unique<RegistryService>(std::move(resource), events);
}

}  // namespace aliquot::kubelet
