// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "controller/token_reviews.h"
#include "http/message.h"
#include "kube_client/api.h"
#include "page/site.h"

namespace aliquot::controller {

/// Lets in who shows a token of this cluster and may list the pods of all namespaces and the nodes: what the page
/// shows; or, of the one namespace that `?namespace=` names, its pods. Thread-safe.
class TokenGate {
public:
    using Steady = TokenReviews::Steady;

    /// api   as TokenReviews takes it
    explicit TokenGate(
        kube_client::Api& api,
        std::function<Steady()> now = [] { return std::chrono::steady_clock::now(); })
        : reviews_(api, std::move(now)) {}

    /// Refuses with 401 (no token, or none of this cluster), 403 (it may not), 400 (no such name of a namespace) or
    /// 503 (the API server could not be asked, or too many ask).
    page::Pass admit(const http::Request& request);

private:
    TokenReviews reviews_;
};

}  // namespace aliquot::controller
