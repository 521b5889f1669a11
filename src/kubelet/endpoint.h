// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "base/result.h"
#include "kubelet/decider.h"
#include "kubelet/plugin_options.h"
#include "kubelet/service.h"
#include "kubelet/streams.h"
#include "kubelet/unix_socket.h"
#include "rpc/server.h"

namespace aliquot::kubelet {

/// A plugin's socket with the server behind it. It lives until kubelet restarts or somebody takes
/// the socket away; then it is closed fully and a new one made, so that no stream of the old can
/// disturb the new. Not thread-safe: one thread drives it.
class Endpoint {
public:
    /// Listens, serves, and has answered a call of its own when it returns.
    /// on_stream   called from the server's thread when a stream opens or ends
    /// errors      as Listener::open; kUnavailable: it does not answer
    static Result<std::unique_ptr<Endpoint>> open(const std::filesystem::path& path,
                                                  const PluginOptions& options, Decider& decider,
                                                  ServiceEvents& events,
                                                  std::span<const grant::Device> devices,
                                                  std::function<void()> on_stream);
    Endpoint(const Endpoint&) = delete;
    Endpoint& operator=(const Endpoint&) = delete;
    ~Endpoint();  // as close()

    /// Serves the connections that wait.
    Result<Done> accept();

    /// Ends the streams while the socket is still there, and waits until kubelet has closed its
    /// connections (bounded): then it has read what they said. A socket that goes first ends them
    /// unread.
    /// returns  whether it has
    bool end_streams();

    /// Ends the streams, waits for running calls (bounded), closes everything, removes the socket.
    void close();

    [[nodiscard]] Streams& streams() { return *streams_; }
    [[nodiscard]] const Listener& listener() const { return listener_; }

private:
    Endpoint(Listener listener, std::unique_ptr<Streams> streams);

    Listener listener_;
    std::unique_ptr<Streams> streams_;
    std::unique_ptr<rpc::Server> server_;  // last: it ends before what it uses
};

}  // namespace aliquot::kubelet
