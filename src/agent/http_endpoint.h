// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "os/root.h"

namespace aliquot::agent {

struct HttpAnswer {
    int status = 200;
    std::string content_type = "text/plain; charset=utf-8";
    std::string body;
};

/// A status page: GET only, HTTP/1.0 semantics (one request per connection), one connection at a
/// time, at most 8 KiB of request, 2 seconds per connection. Local by construction: it listens on a
/// unix socket (mode 0600) or on a loopback address, nothing else.
/// Our own because the packaged HTTP libraries bring a thread pool and TLS, several MiB, into an
/// agent that is to stay small; telemetry's public endpoint is another matter.
class HttpEndpoint {
public:
    using Handler = std::function<HttpAnswer(std::string_view path)>;

    /// address   "unix:/run/aliquot/agent.sock" (beneath root), "127.0.0.1:PORT" or "[::1]:PORT";
    /// port
    ///           0 takes a free one
    /// handler   called on the endpoint's own thread
    /// errors    kInvalidInput: not such an address; kConflict: in use; kPermission
    static Result<std::unique_ptr<HttpEndpoint>> listen(const os::Root& root,
                                                        std::string_view address, Handler handler);
    ~HttpEndpoint();  // stops, removes the unix socket

    [[nodiscard]] unsigned port() const;  // 0 for a unix socket

private:
    class Implementation;
    explicit HttpEndpoint(std::unique_ptr<Implementation> implementation);
    std::unique_ptr<Implementation> implementation_;
};

}  // namespace aliquot::agent
