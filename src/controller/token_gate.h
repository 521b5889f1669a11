// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "http/message.h"
#include "http/password.h"
#include "kube_client/api.h"
#include "page/site.h"

namespace aliquot::controller {

/// Lets in who shows a token of this cluster (TokenReview) and may list the pods of all namespaces and the
/// nodes (SubjectAccessReview): what the page shows; or, of the one namespace that `?namespace=` names, its pods.
/// Answers are remembered, a minute the good ones and five seconds the others, by a keyed digest of the token; few
/// questions at a time, so that guesses keep nobody out whose token is known. Thread-safe.
class TokenGate {
public:
    using Steady = std::chrono::steady_clock::time_point;
    static constexpr std::chrono::seconds kGoodFor{60};
    static constexpr std::chrono::seconds kBadFor{5};
    static constexpr std::size_t kMostRemembered = 1'024;  // good ones; of others as many
    static constexpr std::size_t kMostAtOnce = 4;
    static constexpr std::size_t kMostTokenBytes = 12'288;  // some have certificates inside

    /// api   outlives the gate; it asks as this program, which needs the rights of system:auth-delegator
    explicit TokenGate(
        kube_client::Api& api,
        std::function<Steady()> now = [] { return std::chrono::steady_clock::now(); });

    /// Refuses with 401 (no token, or none of this cluster), 403 (it may not), 400 (no such name of a namespace) or
    /// 503 (the API server could not be asked, or too many ask).
    page::Pass admit(const http::Request& request);

private:
    using Digest = http::Passwords::Digest;
    struct Verdict {
        int status = 200;
        Steady until;
    };
    using Verdicts = std::map<Digest, Verdict>;
    [[nodiscard]] int judge(const std::string& token, const std::string& only);
    [[nodiscard]] int ask(const std::string& token, const std::string& only);
    void remember(const Digest& token, int status);
    [[nodiscard]] std::optional<int> remembered(const Digest& token) const;

    kube_client::Api& api_;
    const std::function<Steady()> now_;
    const http::Passwords digests_{{}};  // for the keyed digest only
    std::mutex mutex_;  // guards what follows; not held while the API server is asked
    std::condition_variable answered_;
    std::set<Digest> asked_;  // now
    Verdicts good_;
    Verdicts others_;
};

}  // namespace aliquot::controller
