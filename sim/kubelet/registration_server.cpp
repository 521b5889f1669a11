// SPDX-License-Identifier: Apache-2.0
#include "sim/kubelet/registration_server.h"

#include <utility>

#include "api/kubelet/deviceplugin.pb.h"
#include "kubelet/message.h"
#include "sim/kubelet/socket_server.h"

namespace aliquot::sim {

class RegistrationServer::Implementation {
public:
    explicit Implementation(Handler handler) : handler_(std::move(handler)) {}
    Result<Done> listen(const std::string& path) {
        auto server = SocketServer::start(path, [this] { return methods(); });
        if (!server) return std::move(server).error();
        server_ = *std::move(server);
        return Done{};
    }
    void leave_socket() { server_->leave_socket(); }

private:
    std::vector<rpc::Method> methods() {
        std::vector<rpc::Method> all;
        all.push_back({"/v1beta1.Registration/Register",
                       rpc::Patient([this](std::string_view bytes, const rpc::Caller& caller,
                                           std::string& /*answer: an Empty*/) {
                           return enlist(bytes, caller);
                       })});
        return all;
    }

    rpc::Status enlist(std::string_view bytes, const rpc::Caller& caller) {
        v1beta1::RegisterRequest request;
        if (!kubelet::parse(bytes, request))
            return {rpc::Code::kInternal, "grpc: error unmarshalling request"};
        const auto done = handler_({.version = request.version(),
                                    .endpoint = request.endpoint(),
                                    .resource = request.resource_name(),
                                    .remaining = caller.left(),
                                    .stopped = [&caller] { return caller.gone(); }});
        // kubelet returns plain Go errors, which travel as Unknown.
        if (!done) return {rpc::Code::kUnknown, done.error().message};
        return {};
    }

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
