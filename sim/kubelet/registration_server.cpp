// SPDX-License-Identifier: Apache-2.0
#include "sim/kubelet/registration_server.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <utility>

#include "api/kubelet/deviceplugin.grpc.pb.h"
#include "sim/kubelet/socket_server.h"

namespace aliquot::sim {
namespace {

constexpr auto kPatience = std::chrono::hours(1);  // of a plugin that set no deadline

}  // namespace

class RegistrationServer::Implementation final : public v1beta1::Registration::Service {
public:
    explicit Implementation(Handler handler) : handler_(std::move(handler)) {}
    Result<Done> listen(const std::string& path) {
        auto server = SocketServer::start(path, *this);
        if (!server) return std::move(server).error();
        server_ = *std::move(server);
        return Done{};
    }
    void leave_socket() { server_->leave_socket(); }

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

private:
    const Handler handler_;
    std::unique_ptr<SocketServer> server_;  // last: it ends before what it uses
};

RegistrationServer::RegistrationServer(std::unique_ptr<Implementation> implementation)
    : implementation_(std::move(implementation)) {}
RegistrationServer::~RegistrationServer() = default;
void RegistrationServer::leave_socket() { implementation_->leave_socket(); }

Result<std::unique_ptr<RegistrationServer>> RegistrationServer::listen(const std::string& socket,
                                                                       Handler handler) {
    auto implementation = std::make_unique<Implementation>(std::move(handler));
    if (auto done = implementation->listen(socket); !done) return done.error();
    return std::unique_ptr<RegistrationServer>(new RegistrationServer(std::move(implementation)));
}

}  // namespace aliquot::sim
