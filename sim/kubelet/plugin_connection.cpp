// SPDX-License-Identifier: Apache-2.0
#include "sim/kubelet/plugin_connection.h"

#include <mutex>
#include <utility>

#include "api/kubelet/deviceplugin.pb.h"
#include "kubelet/message.h"

namespace aliquot::sim {
namespace {

using google::protobuf::MessageLite;

Error failed(const rpc::Status& status) { return {ErrorCode::kUnavailable, rpc_text(status)}; }

ListedDevice to_listed(const v1beta1::Device& device) {
    ListedDevice listed{.id = device.id(), .healthy = device.health() == "Healthy"};
    for (const auto& node : device.topology().nodes()) listed.numa_nodes.push_back(node.id());
    return listed;
}

std::string plugin_path(const char* method) {
    return std::string("/v1beta1.DevicePlugin/") + method;
}

}  // namespace

class PluginConnection::Implementation {
public:
    explicit Implementation(std::string path) : socket(std::move(path)) {}

    rpc::Status call(const char* method, const MessageLite& request,
                     std::chrono::milliseconds timeout, MessageLite& answer) {
        const auto channel = open();
        return channel ? channel->call(plugin_path(method), request, timeout, answer) : closing();
    }

    rpc::Status watch(const std::function<void(const std::string&)>& message) {
        const auto channel = open();
        return channel ? channel->watch(plugin_path("ListAndWatch"), v1beta1::Empty(), message)
                       : closing();
    }

    void end(bool for_good) {
        std::shared_ptr<LocalChannel> ended;
        {
            const std::lock_guard lock(mutex_);
            abandoned_ = abandoned_ || for_good;
            ended.swap(channel_);
        }
        if (ended) ended->close();
    }

    Result<Done> keep(std::shared_ptr<LocalChannel> dialled) {
        const std::lock_guard lock(mutex_);
        if (abandoned_) {
            return Error{ErrorCode::kUnavailable, "failed to dial device plugin: kubelet stops"};
        }
        channel_ = std::move(dialled);
        return Done{};
    }

    const std::string socket;

private:
    static rpc::Status closing() {
        return {rpc::Code::kCancelled, "grpc: the client connection is closing"};
    }
    std::shared_ptr<LocalChannel> open() {
        const std::lock_guard lock(mutex_);
        return channel_;
    }

    std::mutex mutex_;
    bool abandoned_ = false;
    std::shared_ptr<LocalChannel> channel_;  // empty: not dialled yet, or closed
};

PluginConnection::PluginConnection(std::string socket)
    : implementation_(std::make_unique<Implementation>(std::move(socket))) {}

PluginConnection::~PluginConnection() { abandon(); }

Result<Done> PluginConnection::dial(std::chrono::milliseconds timeout, const Stopped& stopped) {
    auto channel = LocalChannel::dial(implementation_->socket, timeout, stopped);
    if (!channel) return std::move(channel).error();
    return implementation_->keep(*std::move(channel));
}

Result<PluginConnection::Options> PluginConnection::options(std::chrono::milliseconds timeout) {
    v1beta1::DevicePluginOptions answer;
    const auto status =
        implementation_->call("GetDevicePluginOptions", v1beta1::Empty(), timeout, answer);
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
    const auto status = implementation_->call("GetPreferredAllocation", request, timeout, answer);
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
    const auto status = implementation_->call("Allocate", request, timeout, answer);
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
    const auto status = implementation_->call("PreStartContainer", request, timeout, answer);
    if (!status.ok()) return failed(status);
    return Done{};
}

void PluginConnection::watch(const std::function<void(std::vector<ListedDevice>)>& message) {
    (void)implementation_->watch([&](const std::string& bytes) {
        v1beta1::ListAndWatchResponse response;
        if (!kubelet::parse(bytes, response)) return close();  // ends the stream
        std::vector<ListedDevice> devices;
        devices.reserve(static_cast<std::size_t>(response.devices_size()));
        for (const auto& device : response.devices()) devices.push_back(to_listed(device));
        message(std::move(devices));
    });
}

void PluginConnection::close() { implementation_->end(false); }
void PluginConnection::abandon() { implementation_->end(true); }

}  // namespace aliquot::sim
