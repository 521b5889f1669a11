// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include "base/result.h"
#include "kubelet/service.h"
#include "kubelet/unix_socket.h"

namespace aliquot::kubelet {

/// A gRPC server without a listening socket: it is given connections. So nothing in gRPC ever
/// unlinks a path, which by then may be the path of our own next server. It answers on one thread
/// of its own. Thread-safe.
class Server {
public:
    /// services   must outlive the server
    static Result<std::unique_ptr<Server>> start(const std::vector<Service*>& services);
    virtual ~Server() = default;  // as stop(0)

    virtual void serve(Descriptor connection) = 0;

    /// Ends politely (GOAWAY, running calls finish) and cancels what is left after `grace`. All
    /// connections are closed when it returns.
    virtual void stop(std::chrono::milliseconds grace) = 0;
};

/// Asks a plugin for its options, over `connection`: proof that it answers, since kubelet calls
/// back inside Register.
/// errors   kUnavailable: no answer within `timeout`
Result<Done> ask_options(Descriptor connection, std::chrono::milliseconds timeout);

}  // namespace aliquot::kubelet
