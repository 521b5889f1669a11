// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "guard_region/directory.h"
#include "turns/keeper.h"
#include "turns/sockets.h"

namespace aliquot::agent {

/// The turns of the regions of a node. A failure leaves weights without effect, which guards remark
/// and the log says. Thread-safe; waits for no container.
class GuardTurns {
public:
    /// directory   must outlive this
    explicit GuardTurns(const guard_region::Directory& directory);

    /// Puts the socket by which a region gets its pages into it.
    void connect(const std::string& id);
    void remove(const std::string& id);

private:
    const guard_region::Directory& directory_;
    turns::Keeper keeper_;
    turns::Sockets sockets_;
};

}  // namespace aliquot::agent
