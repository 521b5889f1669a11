// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kube_client/resource.h"
#include "pools/definition.h"

namespace aliquot::cli {

/// Pools of GPU nodes as the API server has them.
inline kube_client::Resource pool_resource() {
    return {.group = std::string(pools::kPoolGroup),
            .version = std::string(pools::kPoolVersion),
            .plural = std::string(pools::kPoolPlural),
            .kind = "Pool",
            .namespaced = false};
}

}  // namespace aliquot::cli
