// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "os/root.h"

namespace aliquot::mps {

inline constexpr std::string_view kProgramName = "nvidia-cuda-mps-control";

/// NVIDIA's control program of this machine and what it needs around it.
struct Program {
    std::string path;
    std::map<std::string, std::string> environment;
};

/// Looks for it in the usual directories beneath each of `driver_roots` (host paths, best first).
/// For a driver that is not installed in our own file tree it makes `library_directory` (host path)
/// with links to the driver's libraries alone: its libc must not meet our loader.
/// errors   kNotFound: the message names where it was looked for
Result<Program> find_program(const os::Root& root, const std::vector<std::string>& driver_roots,
                             const std::string& library_directory);

}  // namespace aliquot::mps
