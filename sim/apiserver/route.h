// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace aliquot::sim::apiserver {

/// What a path of the resource API names: "/apis/apps/v1/namespaces/a/deployments/b/scale".
struct Route {
    std::string group, version, resource, name_space, name, subresource;
    bool watch_path = false;  // the old form /api/v1/watch/...
};

/// nullopt: no path of a resource.
std::optional<Route> read_route(const std::vector<std::string>& segments);

}  // namespace aliquot::sim::apiserver
