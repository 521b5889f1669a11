// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/result.h"
#include "controller/token_gate.h"
#include "http/server.h"
#include "kube_client/api.h"
#include "page/cost_tables.h"
#include "page/live.h"
#include "scaling/gatherer.h"

namespace aliquot::controller {

struct PageOptions {
    std::string listen = "off";
    std::string web_config;           // TLS; empty: none, on loopback only
    std::vector<std::string> agents;  // as scaling::GatherOptions has them
    std::string agents_service;
    std::string agents_ca_file;
    std::string agents_user;
    std::string agents_password_file;
};

/// Pods with GPUs that wait, out of a list of pods. Pure.
std::vector<page::PodSeen> waiting_pods(const kube_client::Page& pods);

/// How the page listens, and others who show what the cluster's tokens are for; how agents are asked.
/// errors   kInvalidInput; kPermission: not on loopback and without TLS
Result<http::ServerOptions> server_of(const PageOptions& options);
Result<scaling::GatherOptions> gathering(const PageOptions& options);

/// The web page of the cluster: what the agents of all nodes measure, asked for while somebody watches, and the
/// pods that wait, for who has a token with which all of it may be listed.
class ClusterPage {
public:
    /// api      outlives the page
    /// costs    for who may see all of the cluster
    /// errors   kInvalidInput: an address, an option; kConflict; kPermission: not on loopback and without TLS
    static Result<std::unique_ptr<ClusterPage>> serve(const PageOptions& options,
                                                      kube_client::Api& api,
                                                      page::CostLook costs = {{}, {}});

    [[nodiscard]] unsigned port() const { return server_->port(); }

private:
    using Instant = std::chrono::system_clock::time_point;
    struct Node {
        std::shared_ptr<const telemetry::Snapshot> snapshot;
        Instant received;
    };
    ClusterPage(kube_client::Api& api, page::CostLook costs)
        : api_(api), gate_(api), costs_(std::move(costs)) {}
    page::Sight look();

    kube_client::Api& api_;
    TokenGate gate_;
    page::CostLook costs_;  // of the thread that looks
    std::mutex mutex_;
    std::map<std::string, Node> nodes_;  // under mutex_; by name
    std::unique_ptr<scaling::Gatherer> gatherer_;
    std::unique_ptr<http::Server> server_;  // last: its page uses the others
};

}  // namespace aliquot::controller
