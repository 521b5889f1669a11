// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "http/access.h"
#include "node_groups/machines.h"

namespace aliquot::node_groups {

struct ServerOptions {
    std::string listen = "127.0.0.1:8086";
    std::optional<http::Tls> tls;  // none: plain, for this host only
    std::string state_file;        // what a restart goes on with; empty: nothing is kept
};

/// Cluster Autoscaler's provider: listens, answers, turns machines on and off on threads of its own (four at a time).
/// Thread-safe; the destructor ends it, commands under way included.
class Server {
public:
    /// errors   kInvalidInput: an address that others can reach and no TLS, a bad certificate or state file; kConflict:
    ///          the port is taken
    static Result<std::unique_ptr<Server>> start(std::vector<Group> groups,
                                                 const ServerOptions& options);
    ~Server();
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;
    [[nodiscard]] unsigned port() const;

private:
    class Running;
    explicit Server(std::unique_ptr<Running> running);
    std::unique_ptr<Running> running_;
};

}  // namespace aliquot::node_groups
