// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "agent/settings.h"
#include "node/node_object.h"
#include "os/root.h"

namespace aliquot::agent {

/// Whether containers of this node get their GPUs in the way that the agent hands them out: by CDI, or by variables and
/// mounts that NVIDIA's container toolkit reads, which must then be there. Empty: the host is not seen from here (the
/// driver's root is another one), so nobody can say.
/// by_claims   GPUs are handed out by ResourceClaims: always by CDI
std::optional<node::Condition> toolkit_condition(const os::Root& root, const Settings& settings,
                                                 bool by_claims);

}  // namespace aliquot::agent
