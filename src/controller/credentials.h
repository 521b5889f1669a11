// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/result.h"
#include "http/certificate.h"

namespace aliquot::controller {

/// What HTTPS needs: who signs, who has signed before, and what is shown.
struct Credentials {
    http::Certificate authority;  // the newest
    http::Certificate previous;   // the one before it; empty: there is none that lives
    http::Certificate serving;

    /// Whom the API server is to trust: the authority, and the one before while it lives.
    [[nodiscard]] std::string bundle() const;
};

struct Lifetimes {
    std::chrono::seconds authority = std::chrono::hours(24 * 365);
    std::chrono::seconds certificate = std::chrono::hours(24 * 90);
    /// So long a new authority is only trusted: API servers must know it before it signs.
    std::chrono::seconds trust_delay = std::chrono::minutes(5);
};

struct Renewal {
    Credentials credentials;
    std::vector<std::string> reasons;  // what was done and why; empty: nothing
    http::Instant next;                // when to look again
};

/// Renews what has passed two thirds of its life, and fixes what is missing or broken. Pure but for
/// the keys, which are random.
///
/// A new authority joins the bundle first; the certificate stays of the one before until
/// trust_delay has passed. Whoever trusts the bundle of one step trusts what is shown in the next:
/// except where something was broken.
/// names    the serving certificate's, as http::issue() takes them
/// errors   kInvalidInput: names that are none
Result<Renewal> renew(const Credentials& present, const std::vector<std::string>& names,
                      http::Instant now, const Lifetimes& lifetimes);

/// Whether it can be shown now: a certificate with its key, not expired.
bool is_usable(const http::Certificate& certificate, http::Instant now);

}  // namespace aliquot::controller
