// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/result.h"

namespace aliquot::web {

/// A certificate and its key, both in PEM. The key is a secret: never log it.
struct Certificate {
    std::string certificate;
    std::string key;
};

/// Its own issuer (P-256): for signing others.
Result<Certificate> make_authority(const std::string& name, std::chrono::hours valid_for);

/// A certificate of that authority, for servers and for clients.
/// names    alternative names as OpenSSL writes them: "DNS:localhost", "IP:127.0.0.1"
/// errors   kInvalidInput: a name that is none, or the authority is broken
Result<Certificate> issue(const Certificate& authority, const std::string& name,
                          const std::vector<std::string>& names, std::chrono::hours valid_for);

}  // namespace aliquot::web
