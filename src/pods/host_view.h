// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "os/root.h"

namespace aliquot::pods {

/// Whose processes a /proc shows.
enum class HostView : std::uint8_t {
    kNone,     // there is none
    kOwn,      // those of one container or pod only: hostPID is missing
    kNode,     // those of a node that is itself a container (kind, k3d)
    kMachine,  // all there are
};

/// Reads processes 1 and 2, and of a /proc that is not the machine's also the others, until one
/// of them says that this is a node.
HostView look_at_proc(const os::Root& root, const std::string& proc);

}  // namespace aliquot::pods
