// SPDX-License-Identifier: Apache-2.0
#include "sim/kubelet/plugin_connection.h"

#include <grpcpp/grpcpp.h>

#include <mutex>
#include <set>
#include <utility>

#include "api/kubelet/deviceplugin.grpc.pb.h"

namespace aliquot::sim {
namespace {

Error failed(const grpc::Status& status) { return {ErrorCode::kUnavailable, rpc_text(status)}; }

ListedDevice to_listed(const v1beta1::Device& device) {
    ListedDevice listed{.id = device.id(), .healthy = device.health() == "Healthy"};
    for (const auto& node : device.topology().nodes()) listed.numa_nodes.push_back(node.id());
    return listed;
}

}  // namespace

class PluginConnection::Implementation {
public:
    explicit Implementation(std::string path) : socket(std::move(path)) {}

    /// One call that close() can break. `call` gets the stub and a context.
    template <class Call>
    grpc::Status run(std::chrono::milliseconds timeout, Call call) {
        const Running running(*this, timeout);
        if (!running.stub)
            return {grpc::StatusCode::CANCELLED, "grpc: the client connection is closing"};
        return call(*running.stub, *running.context);
    }

    void end(bool for_good) {
        const std::lock_guard lock(mutex);
        abandoned = abandoned || for_good;
        for (grpc::ClientContext* context : contexts) context->TryCancel();
        stub.reset();
    }

    const std::string socket;
    std::mutex mutex;
    bool abandoned = false;
    std::shared_ptr<v1beta1::DevicePlugin::Stub> stub;  // empty: not dialled yet, or closed
    std::set<grpc::ClientContext*> contexts;            // of calls under way

private:
    struct Running {
        Running(Implementation& of, std::chrono::milliseconds timeout)
            : owner(of), context(std::make_unique<grpc::ClientContext>()) {
            if (timeout.count() > 0) {
                context->set_deadline(std::chrono::system_clock::now() + timeout);
            }
            const std::lock_guard lock(owner.mutex);
            stub = owner.stub;
            if (stub) owner.contexts.insert(context.get());
        }
        ~Running() {
            const std::lock_guard lock(owner.mutex);
            owner.contexts.erase(context.get());
        }
        Running(const Running&) = delete;
        Running& operator=(const Running&) = delete;

        Implementation& owner;
        std::unique_ptr<grpc::ClientContext> context;
        std::shared_ptr<v1beta1::DevicePlugin::Stub> stub;
    };
};

PluginConnection::PluginConnection(std::string socket)
    : implementation_(std::make_unique<Implementation>(std::move(socket))) {}

PluginConnection::~PluginConnection() { abandon(); }

Result<Done> PluginConnection::dial(std::chrono::milliseconds timeout, const Stopped& stopped) {
    auto channel = dial_local(implementation_->socket, timeout, stopped);
    if (!channel) return std::move(channel).error();
    const std::lock_guard lock(implementation_->mutex);
    if (implementation_->abandoned) {
        return Error{ErrorCode::kUnavailable, "failed to dial device plugin: kubelet stops"};
    }
    implementation_->stub = v1beta1::DevicePlugin::NewStub(*channel);
    return Done{};
}

Result<PluginConnection::Options> PluginConnection::options(std::chrono::milliseconds timeout) {
    v1beta1::DevicePluginOptions answer;
    const auto status = implementation_->run(timeout, [&](auto& stub, auto& context) {
        return stub.GetDevicePluginOptions(&context, v1beta1::Empty(), &answer);
    });
    if (!status.ok()) return failed(status);
    return Options{.pre_start_required = answer.pre_start_required(),
                   .preferred_allocation = answer.get_preferred_allocation_available()};
}

Result<std::vector<std::string>> PluginConnection::preferred(
    const std::vector<std::string>& available, const std::vector<std::string>& must_include,
    unsigned size, std::chrono::milliseconds timeout) {
    v1beta1::PreferredAllocationRequest request;
    auto* container = request.add_container_requests();
    container->mutable_available_deviceids()->Add(available.begin(), available.end());
    container->mutable_must_include_deviceids()->Add(must_include.begin(), must_include.end());
    container->set_allocation_size(static_cast<std::int32_t>(size));
    v1beta1::PreferredAllocationResponse answer;
    const auto status = implementation_->run(timeout, [&](auto& stub, auto& context) {
        return stub.GetPreferredAllocation(&context, request, &answer);
    });
    if (!status.ok()) return failed(status);
    if (answer.container_responses().empty()) return std::vector<std::string>{};
    const auto& ids = answer.container_responses(0).deviceids();
    return std::vector<std::string>(ids.begin(), ids.end());
}

Result<std::string> PluginConnection::allocate(const std::vector<std::string>& ids,
                                               std::chrono::milliseconds timeout) {
    v1beta1::AllocateRequest request;
    request.add_container_requests()->mutable_devices_ids()->Add(ids.begin(), ids.end());
    v1beta1::AllocateResponse answer;
    const auto status = implementation_->run(timeout, [&](auto& stub, auto& context) {
        return stub.Allocate(&context, request, &answer);
    });
    if (!status.ok()) return failed(status);
    if (answer.container_responses().empty()) {
        return Error{ErrorCode::kConflict, "no containers return in allocation response "};
    }
    return answer.container_responses(0).SerializeAsString();
}

Result<Done> PluginConnection::pre_start(const std::vector<std::string>& ids,
                                         std::chrono::milliseconds timeout) {
    v1beta1::PreStartContainerRequest request;
    request.mutable_devices_ids()->Add(ids.begin(), ids.end());
    v1beta1::PreStartContainerResponse answer;
    const auto status = implementation_->run(timeout, [&](auto& stub, auto& context) {
        return stub.PreStartContainer(&context, request, &answer);
    });
    if (!status.ok()) return failed(status);
    return Done{};
}

void PluginConnection::watch(const std::function<void(std::vector<ListedDevice>)>& message) {
    (void)implementation_->run(std::chrono::milliseconds(0), [&](auto& stub, auto& context) {
        const auto stream = stub.ListAndWatch(&context, v1beta1::Empty());
        v1beta1::ListAndWatchResponse response;
        while (stream->Read(&response)) {
            std::vector<ListedDevice> devices;
            devices.reserve(static_cast<std::size_t>(response.devices_size()));
            for (const auto& device : response.devices()) devices.push_back(to_listed(device));
            message(std::move(devices));
        }
        return stream->Finish();
    });
}

void PluginConnection::close() { implementation_->end(false); }
void PluginConnection::abandon() { implementation_->end(true); }

}  // namespace aliquot::sim
