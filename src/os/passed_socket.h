// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "base/descriptor.h"
#include "base/result.h"

namespace aliquot::os {

/// A unix socket that listens already: whoever started this process has made it, as systemd does for a .socket unit.
struct PassedSocket {
    Descriptor socket;  // non-blocking, not inherited by programs that are started
    std::string path;   // of its file, which is not ours to remove
};

/// Takes it (LISTEN_PID, LISTEN_FDS and descriptor 3, as sd_listen_fds(3) has it), and the variables away, so that no
/// program that is started takes it for its own. To be called once, before the first thread.
/// returns  empty: none was handed over
/// errors   kInvalidInput: several, or another kind of socket
Result<std::optional<PassedSocket>> take_passed_socket();

}  // namespace aliquot::os
