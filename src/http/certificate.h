// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/result.h"

namespace aliquot::http {

/// A certificate and its key, both in PEM. The key is a secret: never log it.
struct Certificate {
    std::string certificate;
    std::string key;
};

using Instant = std::chrono::system_clock::time_point;

/// Its own issuer (P-256): for signing others. Valid from five minutes before `now` (clocks differ)
/// until `valid_for` behind it.
Result<Certificate> make_authority(const std::string& name, std::chrono::seconds valid_for,
                                   Instant now = std::chrono::system_clock::now());

/// A certificate of that authority, for servers and for clients.
/// names    alternative names as OpenSSL writes them: "DNS:localhost", "IP:127.0.0.1"
/// errors   kInvalidInput: a name that is none, or the authority is broken
Result<Certificate> issue(const Certificate& authority, const std::string& name,
                          const std::vector<std::string>& names, std::chrono::seconds valid_for,
                          Instant now = std::chrono::system_clock::now());

/// What a certificate says of itself.
struct CertificateFacts {
    Instant valid_from;
    Instant valid_until;
    std::vector<std::string> names;  // alternative ones, as issue() takes them, sorted
    bool is_authority = false;
};

/// The first certificate of a text in PEM.
/// errors   kInvalidInput: there is none
Result<CertificateFacts> read_certificate(const std::string& pem);

/// Whether the key belongs to the certificate; false also where one of them cannot be read.
bool is_pair(const Certificate& certificate);

/// Whether `authority` has signed `certificate` (both PEM); when it is valid does not matter.
bool has_signed(const std::string& authority, const std::string& certificate);

}  // namespace aliquot::http
