// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cli/command.h"
#include "sim/trace/replay.h"

namespace aliquot::cli {

/// The words that `simulate placement` and `explain placement` share.
struct PlacementOptions {
    std::string nodes;
    std::string pods;
    std::string order;
    std::string workload;
    std::string policy = "aliquot";
    std::optional<double> inflate;  // none: 1.3 for a draw, all of an order file
    std::uint64_t seed = 1;
    bool departures = false;
    bool learn = false;
    double migrate = 0;
    std::size_t patience = 0;
    std::string format = "text";
};

void add_placement_options(command_line::Command& command, PlacementOptions& words);

sim::trace::ReplayOptions replay_options(const PlacementOptions& words);

/// Reads all files, draws the order where there is none, and finds the target workload.
/// errors   kInvalidInput, kNotFound, kPermission: one line that names the file and the place in it
Result<sim::trace::Scenario> read_scenario(const PlacementOptions& words);

/// Prints what the simulator tells as JSON as an answer of this kind, with keys in camelCase beside the old ones.
/// format   "json" or "yaml"
void print_simulated(Context& context, std::string_view kind, const std::string& json,
                     const std::string& format);

}  // namespace aliquot::cli
