// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "grant/grant.h"

namespace aliquot::sim {

/// Joins the answers for one container's resources as kubelet does: of environment, mounts and
/// device nodes (by container path) and annotations the first one wins, CDI names are united. In
/// kubelet the order of the resources is random.
///
/// responses   ContainerAllocateResponse, serialised
grant::Grant merge_responses(const std::vector<std::string>& responses);

}  // namespace aliquot::sim
