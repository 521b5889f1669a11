// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "agent/observer.h"
#include "agent/serving.h"
#include "agent/status_page.h"
#include "agent/telemetry_options.h"
#include "agent/telemetry_service.h"
#include "base/latest.h"
#include "http/routes.h"
#include "http/server.h"
#include "os/root.h"
#include "page/site.h"

namespace aliquot::agent {

/// What the pages tell of; all of it thread-safe, and outlives them.
struct PageSources {
    const os::Root& root;
    const StatusBoard& board;
    const Latest<Observation>& observations;
    const Serving& serving;
    TelemetryService& telemetry;
};

/// What the web page of this node shows.
page::Sight node_sight(const PageSources& sources);

/// For who is on the node, as `aliquot gpu` is.
http::Routes local_pages(const PageSources& sources, const std::shared_ptr<page::Live>& live);

/// For the cluster: Prometheus. The pages of probes too, for manifests that are older than
/// probe_pages().
/// reach   why the web page may not be shown there, else who can reach it
http::Routes node_pages(const PageSources& sources, const std::shared_ptr<page::Live>& live,
                        const Result<page::Reach>& reach);

/// For kubelet. None of them asks the driver: one that hangs must not have the agent restarted.
http::Routes probe_pages(const PageSources& sources);

/// The agent's pages over HTTP: each set of them on an address of its own, by http::Server. What
/// cannot be served is logged and is missing; the GPUs are served all the same.
class Pages {
public:
    explicit Pages(const PageSources& sources) : sources_(sources) {}

    /// address   "unix:/run/aliquot/agent.sock" (beneath the root), "127.0.0.1:PORT" or
    ///           "[::1]:PORT", or "off"; any other is refused
    void serve_local(const std::string& address);
    void serve_node(const TelemetryOptions& options);
    /// By a server of its own, without passwords and with few connections: whoever keeps the other
    /// one busy must not have the agent restarted.
    void serve_probes(const std::string& address);

    /// 0: not served by TCP.
    [[nodiscard]] unsigned local_port() const { return local_ ? local_->port() : 0; }
    [[nodiscard]] unsigned node_port() const { return node_ ? node_->port() : 0; }
    [[nodiscard]] unsigned probe_port() const { return probes_ ? probes_->port() : 0; }

private:
    /// The web page, looked at from the first server on that shows it.
    std::shared_ptr<page::Live> live();

    const PageSources sources_;
    std::shared_ptr<page::Live> live_;
    std::unique_ptr<http::Server> local_;
    std::unique_ptr<http::Server> node_;
    std::unique_ptr<http::Server> probes_;
};

}  // namespace aliquot::agent
