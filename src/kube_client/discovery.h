// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "kube_client/api.h"

namespace aliquot::kube_client {

/// One entry of an APIResourceList; its subresources are left out.
struct DiscoveredKind {
    Resource resource;
    std::string singular;
    std::vector<std::string> short_names;
};

struct Api::Discovered {
    std::vector<DiscoveredKind> kinds;
    std::chrono::steady_clock::time_point at;

    /// By kind, plural, singular or short name.
    [[nodiscard]] const Resource* find(std::string_view name) const;
};

/// errors   kMalformed
Outcome<std::vector<DiscoveredKind>> read_kinds(std::string_view body,
                                                std::string_view api_version);
/// The preferred version of each group of an APIGroupList: "apps/v1", in the server's order.
Outcome<std::vector<std::string>> read_preferred_versions(std::string_view body);

}  // namespace aliquot::kube_client
