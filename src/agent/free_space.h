// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "os/root.h"

namespace aliquot::agent {

/// What a file system has left. Empty: it does not tell (some have no fixed number of files).
struct FreeSpace {
    std::uint64_t bytes = 0;
    std::optional<std::uint64_t> files;
};

/// Of the file system on which the host path lies, or will lie: of its nearest parent that is there.
/// Empty: it cannot be asked.
std::optional<FreeSpace> free_space(const os::Root& root, const std::string& path);

/// Why pods could not get their limits there; empty: there is room. Pure.
std::string shortage(const std::string& path, const FreeSpace& space);

/// The first of the directories without room, in which this agent must write for each new share
/// with limits; empty: all have some.
std::string shortage_in(const os::Root& root, const std::vector<std::string>& directories);

}  // namespace aliquot::agent
