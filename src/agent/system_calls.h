// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/result.h"

namespace aliquot::agent {

enum class Mounts : std::uint8_t {
    kDenied,
    kAllowed,  // each MPS daemon has a /dev/shm of its own
};

/// Denies, with EPERM and for good, system calls that neither the agent nor anything it starts needs: to load
/// modules or another kernel, mount, enter namespaces, trace or write into processes, set the clock, BPF. A
/// container's profile cannot do it: runtimes give a privileged container none. For the calling thread and every
/// thread and program it starts later; call it before the first thread, after no_new_privs.
/// errors   kPermission: the kernel refused, or has no filters
Result<Done> deny_system_calls(Mounts mounts);

}  // namespace aliquot::agent
