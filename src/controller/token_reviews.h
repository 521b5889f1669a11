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
#include <vector>

#include "http/message.h"
#include "http/password.h"
#include "kube_client/api.h"

namespace aliquot::controller {

/// What somebody wants to do, as a SubjectAccessReview asks it; what is empty is left out: of all namespaces, all names.
struct Right {
    std::string verb;
    std::string group;
    std::string version;
    std::string resource;
    std::string subresource;
    std::string space;
    std::string name;
};

/// Who shows a token of this cluster (TokenReview), and what that user may do (SubjectAccessReview). Answers are
/// remembered, a minute the good ones and five seconds the others, by a keyed digest of the token; few questions at a
/// time, so that guesses keep nobody out whose token is known; two who show one token share an answer. Thread-safe.
class TokenReviews {
public:
    using Steady = std::chrono::steady_clock::time_point;
    using Digest = http::Passwords::Digest;
    static constexpr std::chrono::seconds kGoodFor{60};
    static constexpr std::chrono::seconds kBadFor{5};
    static constexpr std::size_t kMostRemembered = 1'024;  // good ones; of others as many
    // Of those whose token was not good before; with them at most half of a server's threads wait.
    static constexpr std::size_t kMostAtOnce = 2;
    static constexpr std::size_t kMostWaiting = 2;
    static constexpr unsigned kThreads = 2 * (kMostAtOnce + kMostWaiting);  // of a server that asks
    static constexpr std::size_t kMostTokenBytes = 12'288;  // some have certificates inside

    // HTTP's words for what was found.
    static constexpr int kGood = 200;
    static constexpr int kNobody = 401;
    static constexpr int kMayNot = 403;
    static constexpr int kCannotTell = 503;  // the API server could not be asked, or too many ask

    struct Verdict {
        int status = kCannotTell;
        std::string user;     // of kGood
        std::string subject;  // JSON members of a SubjectAccessReview's spec, of kGood
    };

    /// api   outlives it; it asks as this program, which needs the rights of system:auth-delegator
    explicit TokenReviews(
        kube_client::Api& api,
        std::function<Steady()> now = [] { return std::chrono::steady_clock::now(); });

    /// The token of an Authorization header "Bearer TOKEN"; empty: none, or a longer one than a token is.
    static std::string shown_by(const http::Request& request);

    /// Who shows `token`, once he may do all of `rights`; remembered together.
    Verdict judge(const std::string& token, const std::vector<Right>& rights);

    /// Whether he may do that now: kGood, kMayNot or kCannotTell. Not remembered.
    [[nodiscard]] int may(const Verdict& user, const Right& right) const;

private:
    struct Remembered {
        Verdict verdict;
        Steady until;
    };
    using Verdicts = std::map<Digest, Remembered>;
    [[nodiscard]] Verdict ask(const std::string& token, const std::vector<Right>& rights) const;
    void remember(const Digest& asked, const Verdict& verdict);
    [[nodiscard]] std::optional<Verdict> remembered(const Digest& asked) const;

    kube_client::Api& api_;
    const std::function<Steady()> now_;
    const http::Passwords digests_{{}};  // for the keyed digest only
    std::mutex mutex_;  // guards what follows; not held while the API server is asked
    std::condition_variable answered_;
    std::set<Digest> asked_;   // now
    std::size_t waiting_ = 0;  // for another's answer about the same token
    Verdicts good_;
    Verdicts others_;
};

}  // namespace aliquot::controller
