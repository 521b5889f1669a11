// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "base/result.h"

namespace aliquot::agent {

/// What MPS needs and nothing else does: SYS_ADMIN (the compute mode; a /dev/shm of its own for each
/// daemon), SETUID and SETGID (an MPS server runs as its clients' user), KILL (to end such a server).
std::span<const int> mps_capabilities();

/// Whether this thread has all of `capabilities` in effect.
bool has_capabilities(std::span<const int> capabilities);

/// Gives up what the agent never needs, for the calling thread and every thread and program it
/// starts later: all Linux capabilities but `kept` (the files it writes belong to its own user), and
/// the ability to gain any (no_new_privs). Call it before the first thread.
/// errors   kPermission: the kernel refused
Result<Done> drop_capabilities(std::span<const int> kept);

/// Takes room for as many descriptors as the process may have, 65,536 at most: each container with
/// limits needs five, and 1,024 is what many an init system starts with. Without, it goes on.
void take_room_for_descriptors();

}  // namespace aliquot::agent
