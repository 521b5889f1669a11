// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "scaling/answer.h"

namespace aliquot::scaling {

inline constexpr std::string_view kCustomGroup = "custom.metrics.k8s.io";
inline constexpr std::string_view kExternalGroup = "external.metrics.k8s.io";

/// A workload whose pods can be asked for together.
struct WorkloadKind {
    std::string_view resource;  // "deployments.apps", as the path has it
    std::string_view kind;
    std::string_view api_version;
};
/// nullptr: none that we know.
const WorkloadKind* find_workload_kind(std::string_view resource);

/// GET /apis/<group>
ApiAnswer group_document(std::string_view group);
/// GET /apis/<group>/<version>
ApiAnswer resource_document(std::string_view group, std::string_view version);

}  // namespace aliquot::scaling
