// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "controller/credentials.h"
#include "kube_client/resource.h"

namespace aliquot::controller {

/// Credentials as they lie in a Secret.
struct KeptCredentials {
    Credentials credentials;  // what is missing or no text is empty
    std::uint64_t epoch = 0;  // of the leader that wrote it
};

/// json   a Secret; any bytes
KeptCredentials read_secret(std::string_view json);

/// The Secret with the credentials in it: authority.crt and .key, previous.crt and .key, tls.crt and
/// .key, and ca.crt, the bundle, for others to read. What else the object holds stays.
/// json   the object as it is; empty: there is none
std::string write_secret(std::string_view json, const kube_client::ObjectKey& key,
                         const Credentials& credentials, std::uint64_t epoch);

}  // namespace aliquot::controller
