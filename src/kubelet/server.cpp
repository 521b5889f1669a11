// SPDX-License-Identifier: Apache-2.0
#include "kubelet/server.h"

#include <grpcpp/grpcpp.h>
#include <grpcpp/server_posix.h>

#include <thread>
#include <utility>

#include "api/kubelet/deviceplugin.grpc.pb.h"
#include "kubelet/call_queue.h"
#include "kubelet/grpc_words.h"

namespace aliquot::kubelet {
namespace {

constexpr int kRequestBytes = 4 << 20;  // 20,000 device ids are a quarter of it
constexpr int kCallsPerConnection = 128;

class GrpcServer final : public Server {
public:
    GrpcServer(std::unique_ptr<grpc::ServerCompletionQueue> queue,
               std::unique_ptr<grpc::Server> server, const std::vector<Service*>& services)
        : queue_(std::move(queue)), server_(std::move(server)) {
        for (auto* service : services) service->listen(queue_);
        thread_ = std::jthread([this] { queue_.run(); });
    }
    ~GrpcServer() override { GrpcServer::stop(std::chrono::milliseconds(0)); }
    GrpcServer(const GrpcServer&) = delete;
    GrpcServer& operator=(const GrpcServer&) = delete;

    void serve(Descriptor connection) override {
        grpc::AddInsecureChannelFromFd(server_.get(), connection.release());
    }

    void stop(std::chrono::milliseconds grace) override {
        if (!thread_.joinable()) return;
        server_->Shutdown(std::chrono::system_clock::now() + grace);
        queue_.close();
        thread_.join();
    }

private:
    CallQueue queue_;
    const std::unique_ptr<grpc::Server> server_;
    std::jthread thread_;
};

}  // namespace

Result<std::unique_ptr<Server>> Server::start(const std::vector<Service*>& services) {
    adopt_grpc_log();
    grpc::ServerBuilder builder;
    for (auto* service : services) builder.RegisterService(&service->grpc_service());
    builder.SetMaxReceiveMessageSize(kRequestBytes);
    builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kCallsPerConnection);
    builder.AddChannelArgument(GRPC_ARG_ENABLE_CHANNELZ, 0);
    auto queue = builder.AddCompletionQueue();
    auto server = builder.BuildAndStart();
    if (!server) {
        queue->Shutdown();
        return Error{ErrorCode::kUnavailable, "gRPC server: cannot be started"};
    }
    return std::unique_ptr<Server>(
        std::make_unique<GrpcServer>(std::move(queue), std::move(server), services));
}

Result<Done> ask_options(Descriptor connection, std::chrono::milliseconds timeout) {
    const auto stub =
        v1beta1::DevicePlugin::NewStub(channel_over(std::move(connection), kRequestBytes));
    grpc::ClientContext context;
    set_deadline(context, timeout);
    v1beta1::DevicePluginOptions options;
    const auto status = stub->GetDevicePluginOptions(&context, {}, &options);
    if (!status.ok()) return from_status(status, "GetDevicePluginOptions of our own socket");
    return Done{};
}

}  // namespace aliquot::kubelet
