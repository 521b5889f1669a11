// SPDX-License-Identifier: Apache-2.0
#include "sim/kubelet/registration_server.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <utility>

#include "api/kubelet/deviceplugin.grpc.pb.h"

namespace aliquot::sim {
namespace {

constexpr auto kPatience = std::chrono::hours(1);  // of a plugin that set no deadline

}  // namespace

class RegistrationServer::Implementation final : public v1beta1::Registration::Service {
public:
    explicit Implementation(Handler handler) : handler_(std::move(handler)) {}
    ~Implementation() override {
        if (server) server->Shutdown(std::chrono::system_clock::now());
    }

    grpc::Status Register(grpc::ServerContext* context, const v1beta1::RegisterRequest* request,
                          v1beta1::Empty* /*answer*/) override {
        const auto left = std::min<std::chrono::system_clock::duration>(
            context->deadline() - std::chrono::system_clock::now(), kPatience);
        const auto done =
            handler_({.version = request->version(),
                      .endpoint = request->endpoint(),
                      .resource = request->resource_name(),
                      .remaining = std::chrono::duration_cast<std::chrono::milliseconds>(left),
                      .stopped = [context] { return context->IsCancelled(); }});
        // kubelet returns plain Go errors, which travel as Unknown.
        if (!done) return {grpc::StatusCode::UNKNOWN, done.error().message};
        return grpc::Status::OK;
    }

    std::unique_ptr<grpc::Server> server;

private:
    Handler handler_;
};

RegistrationServer::RegistrationServer(std::unique_ptr<Implementation> implementation)
    : implementation_(std::move(implementation)) {}
RegistrationServer::~RegistrationServer() = default;

Result<std::unique_ptr<RegistrationServer>> RegistrationServer::listen(const std::string& socket,
                                                                       Handler handler) {
    auto implementation = std::make_unique<Implementation>(std::move(handler));
    grpc::ServerBuilder builder;
    builder.AddListeningPort("unix:" + socket, grpc::InsecureServerCredentials());
    builder.RegisterService(implementation.get());
    implementation->server = builder.BuildAndStart();
    if (!implementation->server) {
        return Error{ErrorCode::kUnavailable, socket + ": cannot listen on this socket"};
    }
    return std::unique_ptr<RegistrationServer>(new RegistrationServer(std::move(implementation)));
}

}  // namespace aliquot::sim
