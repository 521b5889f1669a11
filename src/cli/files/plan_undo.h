// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "cli/cluster/cluster_flags.h"
#include "cli/command.h"
#include "plan/plan.h"

/// aliquot plan --write leaves a record of what was there before; aliquot plan --undo reads it.
namespace aliquot::cli {

/// The words of `aliquot plan --undo`.
struct UndoOptions {
    std::string directory;  // that --write was given; empty: nothing is to be taken back
    bool on_cluster = false;
    bool dry_run = false;
    ClusterOptions cluster;
};

/// Writes the files of a plan to a directory, and the record first: whatever interrupts it, the way
/// back is known. Says what it wrote on context.err, or sets the exit code.
void write_plan(Context& context, const plan::Plan& made, const plan::Request& request,
                const std::string& to);

/// Takes back what the record in the directory tells. Either nothing changes or all of it does; a second
/// run has nothing to do.
void undo_plan(Context& context, const UndoOptions& words);

}  // namespace aliquot::cli
