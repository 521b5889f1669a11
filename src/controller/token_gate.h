// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <optional>

#include "http/message.h"
#include "http/password.h"
#include "kube_client/api.h"

namespace aliquot::controller {

/// Lets in who shows a token of this cluster (TokenReview) and may list the pods of all namespaces and the
/// nodes (SubjectAccessReview): what the page shows. Answers are remembered, a minute the good ones and five
/// seconds the others, by a keyed digest of the token. One question at a time: who is known does not wait for it, and of the others at
/// most kMostWaiting do. Thread-safe.
class TokenGate {
public:
    using Steady = std::chrono::steady_clock::time_point;
    static constexpr std::chrono::seconds kGoodFor{60};
    static constexpr std::chrono::seconds kBadFor{5};
    static constexpr std::size_t kMostRemembered = 1'024;
    static constexpr int kMostWaiting = 16;

    /// api   outlives the gate; it asks as this program, which needs the rights of system:auth-delegator
    explicit TokenGate(
        kube_client::Api& api,
        std::function<Steady()> now = [] { return std::chrono::steady_clock::now(); });

    /// Empty: it may go on. Else 401 (no token, or none of this cluster), 403 (it may not) or 503 (the API server
    /// could not be asked).
    std::optional<http::Response> refuse(const http::Request& request);

private:
    struct Verdict {
        int status = 200;
        Steady until;
    };
    [[nodiscard]] int ask(const std::string& token);
    [[nodiscard]] int judge(const std::string& token);
    void remember(const http::Passwords::Digest& token, int status);
    [[nodiscard]] std::optional<int> remembered(const http::Passwords::Digest& token);

    kube_client::Api& api_;
    const std::function<Steady()> now_;
    const http::Passwords digests_{{}};  // for the keyed digest only
    std::mutex asking_;                  // held while the API server is asked
    std::atomic<int> waiting_{0};        // for that
    std::mutex mutex_;                   // of what follows
    std::map<http::Passwords::Digest, Verdict> verdicts_;
};

}  // namespace aliquot::controller
