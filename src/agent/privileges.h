// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/result.h"

namespace aliquot::agent {

/// Gives up what the agent never needs, for the calling thread and every thread and program it
/// starts later: all Linux capabilities (the files it writes belong to its own user), and the
/// ability to gain any (no_new_privs). Call it before the first thread.
/// errors   kPermission: the kernel refused
Result<Done> drop_capabilities();

}  // namespace aliquot::agent
