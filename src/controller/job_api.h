// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/result.h"
#include "http/password.h"
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
    using Steady = std::chrono::steady_clock::time_point;
    static constexpr std::chrono::seconds kGoodFor{60};
    static constexpr std::chrono::seconds kBadFor{5};
    static constexpr std::size_t kMostRemembered = 1'024;
    static constexpr int kMostAsking = 8;

    explicit JobApi(
        kube_client::Api& api,
        std::function<Steady()> now = [] { return std::chrono::steady_clock::now(); })
        : api_(api), now_(std::move(now)) {}

    /// api      outlives it; it acts as this program, which needs system:auth-delegator and rights on Jobs
    /// errors   kInvalidInput; kPermission: not on loopback and without TLS
    static Result<std::unique_ptr<JobApi>> serve(const JobApiOptions& options,
                                                 kube_client::Api& api);

    http::Response respond(const http::Request& request);
    [[nodiscard]] unsigned port() const { return server_->port(); }

private:
    /// Who shows a token; without a name: nobody of this cluster.
    struct Subject {
        std::string name;
        std::string fields;  // JSON members of a SubjectAccessReview's spec
        Steady until;
    };
    [[nodiscard]] std::optional<Subject> subject_of(const std::string& token);
    [[nodiscard]] std::optional<Subject> ask_who(const std::string& token);

    kube_client::Api& api_;
    const std::function<Steady()> now_;
    const http::Passwords digests_{{}};  // for the keyed digest only
    std::atomic<int> asking_{0};
    std::mutex mutex_;
    std::map<http::Passwords::Digest, Subject> subjects_;  // under mutex_
    std::unique_ptr<http::Server> server_;                 // last: it uses the others
};

}  // namespace aliquot::controller
