// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace aliquot::job_server {

/// Runs a program `members` times at once, in this process's place: RANK, LOCAL_RANK and WORLD_SIZE tell them apart, and each
/// has its part of CUDA_VISIBLE_DEVICES. When one fails the others are ended: SIGTERM, then SIGKILL with our own end.
/// Returns the exit code of the first that failed, as a shell says it; 0: none did.
int run_gang(unsigned members, const std::vector<std::string>& command);

}  // namespace aliquot::job_server
