// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "controller/options.h"
#include "http/certificate.h"
#include "kube_client/api.h"

namespace aliquot::controller {

/// What a controller needs of the dependencies.
struct Dependencies {
    kube_client::Api& api;
    std::function<http::Instant()> now = [] { return std::chrono::system_clock::now(); };
};

/// A replica as it runs: reviews pods over HTTPS, follows nodes, Secret and webhook configuration,
/// stands for election, and keeps the certificates while it leads. Threads of its own until the
/// destructor, which releases the Lease. `dependencies` must outlive it.
class Controller {
public:
    /// errors   kInvalidInput: an address; kConflict: one that is in use; kPermission,
    ///          kUnavailable: no place for the certificate
    static Result<std::unique_ptr<Controller>> start(const Options& options,
                                                     Dependencies dependencies);
    ~Controller();

    [[nodiscard]] unsigned webhook_port() const;
    [[nodiscard]] unsigned health_port() const;
    /// It knows the nodes and shows a certificate that the API server is to trust.
    [[nodiscard]] bool is_ready() const;
    [[nodiscard]] bool leads() const;
    /// Not ready any more, and still answering.
    void drain();
    /// Looks at the certificates now: for tests that have moved the clock.
    void look();

private:
    class Running;
    explicit Controller(std::unique_ptr<Running> running);
    std::unique_ptr<Running> running_;
};

}  // namespace aliquot::controller
