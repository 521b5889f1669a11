// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "controller/keyring.h"
#include "kube_client/resource.h"

namespace aliquot::controller {

/// A keyring as it lies in a Secret.
struct KeptKeyring {
    Keyring keyring;          // what is missing or no text is empty
    std::uint64_t epoch = 0;  // of the leader that wrote it
};

/// json   a Secret; any bytes
KeptKeyring read_secret(std::string_view json);

/// The Secret with the keyring in it: authority.crt and .key, previous.crt and .key, tls.crt and
/// .key, and ca.crt, the bundle, for others to read. What else the object holds stays.
/// json   the object as it is; empty: there is none
std::string write_secret(std::string_view json, const kube_client::ObjectKey& key,
                         const Keyring& keyring, std::uint64_t epoch);

}  // namespace aliquot::controller
