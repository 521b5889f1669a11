// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <vector>

#include "base/descriptor.h"
#include "base/result.h"
#include "rpc/method.h"

namespace aliquot::rpc {

/// A gRPC server without a listening socket: it is given connections. So nothing in it ever
/// unlinks a path, which by then may be the path of another server. It speaks HTTP/2 without TLS
/// and answers on one thread of its own. Thread-safe.
class Server {
public:
    /// methods   the feeds in them must outlive the server
    /// errors    kUnavailable: no descriptor or thread to be had
    static Result<std::unique_ptr<Server>> start(std::vector<Method> methods,
                                                 const Limits& limits = {});
    virtual ~Server() = default;  // as stop(0)

    /// One connection more than Limits::connections is closed.
    virtual void serve(Descriptor connection) = 0;

    /// A feed has something new.
    virtual void wake() = 0;

    /// Waits until every client has closed its connection, which is how it shows that it has done with
    /// all that it was told.
    /// returns  whether all have within `timeout`
    virtual bool wait_until_left(std::chrono::milliseconds timeout) = 0;

    /// Ends politely (GOAWAY, open calls finish) and cancels what is left after `grace`. All
    /// connections are closed when it returns, and no method is called any more.
    virtual void stop(std::chrono::milliseconds grace) = 0;
};

}  // namespace aliquot::rpc
