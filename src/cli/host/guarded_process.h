// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/result.h"
#include "os/spawner.h"

namespace aliquot::cli {

/// Blocks the signals that a command in front of a program passes on, for this thread and those it
/// starts later. To be called before the first thread.
void block_signals();

/// Runs a program in the foreground to its end: signals that we get are passed on (those that the
/// terminal sends to both are not sent twice), the terminal stays its own. SIGKILL of us ends it.
/// errors   of os::Process::start()
Result<os::Exit> run_in_front(os::Command command);

}  // namespace aliquot::cli
