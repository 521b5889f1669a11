// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "cli/commands.h"
#include "cli/standard_output.h"
#include "cmd/aliquot-placement/commands.h"

int main(int argc, char** argv) {
    constexpr auto kCommands = std::to_array<aliquot::cli::Command>({
        {"simulate", aliquot::cli::add_simulate_command},
        {"explain", aliquot::cli::add_explain_command},
        {"man", aliquot::cli::add_man_command, true},
    });
    const aliquot::cli::StandardOutput output;
    return aliquot::cli::run(argc, argv, kCommands);
}
