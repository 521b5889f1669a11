// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kube_client/api.h"
#include "kube_client/credentials.h"
#include "kube_client/rate_limiter.h"
#include "kube_client/transport.h"

namespace aliquot::kube_client {

struct HttpApiOptions {
    std::string user_agent = "aliquot/" ALIQUOT_VERSION;
    unsigned burst = 100;
    double per_second = 50;
    /// Before the second try; doubles with each, up to the longest.
    std::chrono::milliseconds first_wait{100};
    std::chrono::milliseconds longest_wait{5'000};
    std::vector<std::pair<std::string, std::string>> headers;  // with each request: impersonation
    TransportOptions transport;
};

/// The API server over HTTP: identity, limiter, and another try where that is right.
///
/// Tried again, within the call's deadline and its number of tries: 429 (after what Retry-After
/// says); 5xx with Retry-After; 500, 502, 503, 504 and broken connections when the request is
/// `repeatable` or was surely not sent; 401 once, when the credentials are newer by then. All
/// else is the caller's to judge.
class HttpApi final : public Api {
public:
    HttpApi(Destination destination, std::unique_ptr<Credentials> credentials,
            HttpApiOptions options = {});
    ~HttpApi() override;

    Outcome<Reply> exchange(const Request& request) override;
    Outcome<std::unique_ptr<ByteStream>> open(const Request& request) override;

private:
    struct Try;
    struct Attempt;
    Outcome<Try> persist(const Request& request, bool stream);
    Outcome<Try> try_once(const Request& request, Attempt& attempt, bool stream);
    bool wait(std::chrono::nanoseconds duration, const Attempt& attempt);
    void tell(const std::vector<std::string>& warnings);

    const HttpApiOptions options_;
    const std::string server_;
    const std::unique_ptr<Credentials> credentials_;
    RateLimiter limiter_;
    std::mutex mutex_;
    std::condition_variable_any never_;
    Jitter jitter_;
    std::set<std::string> told_;  // warnings
    Transport transport_;
};

}  // namespace aliquot::kube_client
