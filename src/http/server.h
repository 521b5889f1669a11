// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "base/descriptor.h"
#include "base/result.h"
#include "http/message.h"
#include "http/options.h"

/// HTTP where it leaves the node: TLS, names and passwords, compression, limits.
namespace aliquot::http {

/// A server on threads of its own: one that waits for all connections, so that an idle or a slow
/// one costs a few KiB and no thread, and few that run the handler; and one for each answer that is
/// written as a stream. Answers are compressed (gzip) where the asker takes that and it pays, streams
/// are not. HEAD is answered as GET without body.
class Server {
public:
    /// errors   kInvalidInput: address, certificate; kConflict: address in use; kPermission
    static Result<std::unique_ptr<Server>> listen(ServerOptions options, Handler handler);
    /// As listen(), at a socket that listens already, as systemd hands one over: non-blocking; its file stays. Address,
    /// mode and group of the options are not looked at.
    static Result<std::unique_ptr<Server>> take(Descriptor listener, ServerOptions options,
                                                Handler handler);
    ~Server();  // stops; open requests end within request_limit, streams are cut

    /// Cuts every open connection, as a restart would. Thread-safe.
    void cut_connections();

    [[nodiscard]] unsigned port() const;  // 0 for a unix socket

private:
    class Implementation;
    static Result<std::unique_ptr<Server>> start(Descriptor listener, ServerOptions options,
                                                 Handler handler);
    explicit Server(std::unique_ptr<Implementation> implementation);
    std::unique_ptr<Implementation> implementation_;
};

}  // namespace aliquot::http
