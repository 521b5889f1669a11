// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/cluster/cluster_flags.h"
#include "cli/host/driver_choice.h"
#include "gate/run.h"

namespace aliquot::cli {

/// What the commands below `aliquot gate` have in common.
struct GateOptions {
    DriverChoice driver;
    ClusterOptions cluster;
    std::vector<std::string> gpus;
    std::string record = "/run/aliquot/gate.json";
    std::string memory = "200Mi";
    unsigned settle_ms = 2'000;
    unsigned deadline_ms = 5'000;
    bool end_orphans = false;
    bool keep_going = false;
    std::string quarantine;  // the node; empty: nobody is told
    std::string format = "text";
};

/// --memory, --settle, --end-orphans, --quarantine.
void add_gate_options(command_line::Command& command, GateOptions& words);

/// Empty: it was said what is wrong.
std::optional<gate::RunOptions> run_options(Context& context, const GateOptions& words);

/// Keeps pods off the node and says why. False: the cluster did not take it.
bool quarantine(Context& context, const GateOptions& words,
                const std::vector<gate::Leftover>& leftovers);
/// Takes the taint away. False: the cluster did not take it.
bool end_quarantine(Context& context, const GateOptions& words);

/// aliquot gate watch.
void add_gate_watch(command_line::Command& gate, const std::shared_ptr<GateOptions>& words,
                    Context& context);

}  // namespace aliquot::cli
