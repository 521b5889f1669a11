// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kube_client/api.h"

namespace aliquot::scaling {

/// How the API server's front proxy is known, as the cluster says it.
struct ProxyAuthority {
    std::string certificates;                // PEM, of its authority
    std::vector<std::string> allowed_names;  // empty: any that it has signed
};

/// Of ConfigMap kube-system/extension-apiserver-authentication.
/// errors   kUnavailable, kPermission (the role extension-apiserver-authentication-reader is
///          missing), kInvalidInput: it does not say
Result<ProxyAuthority> ask_proxy_authority(kube_client::Api& api);
/// The same of that ConfigMap's JSON text.
Result<ProxyAuthority> read_proxy_authority(std::string_view json);

}  // namespace aliquot::scaling
