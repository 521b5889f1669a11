// SPDX-License-Identifier: Apache-2.0
#include "agent/guard_turns.h"

#include "abi/region.h"
#include "base/log.h"

namespace aliquot::agent {

GuardTurns::GuardTurns(const guard_region::Directory& directory)
    : directory_(directory), sockets_(keeper_) {}

void GuardTurns::connect(const std::string& id) {
    const auto opened = sockets_.open(id, directory_.file(id, abi::kNodeFile),
                                      directory_.file(id, abi::kConfigFile));
    if (!opened) log::warning("guard.no_turns", {{"why", opened.error().message}});
}

void GuardTurns::remove(const std::string& id) { sockets_.close(id); }

}  // namespace aliquot::agent
