// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/result.h"

namespace aliquot::scaling {

struct ManifestOptions {
    std::string namespace_name = "aliquot-system";
    std::string image = "aliquot:" ALIQUOT_VERSION;
    unsigned replicas = 2;
    /// A certificate of ten years in a Secret, and its authority in the APIServices. Without:
    /// the server makes its own at each start, and the API server does not look at it.
    bool with_certificate = true;
    /// APIServices that somebody else has: not printed.
    std::set<std::string> taken;
};

/// "v1beta2.custom.metrics.k8s.io", ...: those we can serve.
const std::vector<std::string>& api_service_names();

/// All that the cluster needs, as YAML documents: ServiceAccount, RBAC, Services, Secret,
/// Deployment, APIServices.
/// errors   kInvalidInput: a namespace or image that is none, or nothing is left to serve
Result<std::string> manifests(const ManifestOptions& options);

/// Whose an APIService is: "namespace/name" of the Service in its JSON text; empty: it is the API
/// server's own.
std::string api_service_owner(std::string_view json);

}  // namespace aliquot::scaling
