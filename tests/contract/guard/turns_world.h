// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

#include "turns/keeper.h"
#include "turns/sockets.h"

namespace aliquot::guardkit {

/// Who keeps turns between the containers of a test, as the agent does it between those of a node.
class TurnsWorld {
public:
    /// directory   for their sockets and configs; may be seen by all
    /// uuid        of the one GPU
    TurnsWorld(std::filesystem::path directory, std::string uuid);

    /// Another container with that weight; its ALIQUOT_GUARD_NODE is directory / name.
    void add(const std::string& name, std::uint32_t weight);
    /// One whose config somebody else makes before it connects.
    void add(const std::string& name, const std::filesystem::path& config);

private:
    std::filesystem::path directory_;
    std::string uuid_;
    turns::Keeper keeper_;
    turns::Sockets sockets_;
};

}  // namespace aliquot::guardkit
