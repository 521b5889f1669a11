// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "controller/token_reviews.h"
#include "http/server.h"
#include "kube_client/api.h"

namespace aliquot::controller {

struct JobApiOptions {
    std::string listen = "off";
    std::string web_config;  // TLS; empty: none, on loopback only
};

/// The HTTP API of jobs (api/jobs.yaml) of a cluster: for who shows a token of it (TokenReview), as far as that user may do
/// the like with Jobs (SubjectAccessReview): create for submit and retry, patch for cancel, suspend and resume, get of
/// pods/log for logs. Thread-safe.
class JobApi {
public:
    using Steady = TokenReviews::Steady;

    explicit JobApi(
        kube_client::Api& api,
        std::function<Steady()> now = [] { return std::chrono::steady_clock::now(); })
        : api_(api), reviews_(api, std::move(now)) {}

    /// api      outlives it; it acts as this program, which needs system:auth-delegator and rights on Jobs
    /// errors   kInvalidInput; kPermission: not on loopback and without TLS
    static Result<std::unique_ptr<JobApi>> serve(const JobApiOptions& options,
                                                 kube_client::Api& api);

    http::Response respond(const http::Request& request);
    [[nodiscard]] unsigned port() const { return server_->port(); }

private:
    kube_client::Api& api_;
    TokenReviews reviews_;
    std::unique_ptr<http::Server> server_;  // last: it uses the others
};

}  // namespace aliquot::controller
