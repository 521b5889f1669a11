// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>

#include "top/cluster_snapshot.h"

namespace aliquot::cli {

/// What /proc of this machine tells of the snapshot's processes: user and command line, as far as
/// the caller may read them. One that has another name here than in the snapshot is left out: the
/// snapshot is then of another machine, or of a process that has ended.
std::map<std::uint32_t, top::ProcessFacts> read_process_facts(const telemetry::Snapshot& snapshot);

/// Sends SIGTERM to a process of this machine, provided that it still has this name.
/// errors   kNotFound: it has ended, or its number is another process's by now; kPermission
Result<Done> end_process(std::uint32_t pid, const std::string& command);

}  // namespace aliquot::cli
