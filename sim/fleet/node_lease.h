// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "kube_client/api.h"

namespace aliquot::sim::fleet {

/// Renews the Lease by which a node's kubelet shows that it lives, and makes it where there is none. What fails is
/// tried again at the next beat.
void renew_lease(kube_client::Api& api, const std::string& node);

}  // namespace aliquot::sim::fleet
