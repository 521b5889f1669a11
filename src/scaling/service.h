// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "http/routes.h"
#include "scaling/answer.h"

namespace aliquot::scaling {

/// Who may ask: the API server, which has checked the user already and says so by its own client
/// certificate and X-Remote-User.
struct FrontProxy {
    /// Common names of its certificate; empty: any that the authority has signed.
    std::vector<std::string> allowed_names;
};

/// The metrics API over HTTP. /livez, /healthz and /readyz are for anybody; the rest is for the
/// front proxy. Thread-safe.
class Service {
public:
    struct Dependencies {
        const RecentMetrics& recent;
        const PodDirectory& directory;
        /// Null: anybody may ask (for trying it out, on a loopback address).
        std::function<std::shared_ptr<const FrontProxy>()> front_proxy;
        std::function<bool()> is_ready;
        std::function<Instant()> now;
    };
    /// The dependencies must outlive the service.
    explicit Service(Dependencies dependencies) : dependencies_(std::move(dependencies)) {}

    /// To be used as long as the service lives.
    [[nodiscard]] http::Routes routes() const;

private:
    [[nodiscard]] http::Response metrics(const http::Request& request) const;
    /// Why the asker is refused; empty: it is not.
    [[nodiscard]] std::string why_refused(const http::Request& request) const;

    const Dependencies dependencies_;
};

}  // namespace aliquot::scaling
