// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "cli/commands.h"
#include "cli/standard_output.h"
#include "cmd/aliquot/placement_handover.h"
#include "cmd/aliquot/sim_command.h"
#include "cmd/aliquot/up_command.h"

int main(int argc, char** argv) {
    constexpr auto kCommands = std::to_array<aliquot::cli::Command>({
        {"up", aliquot::up::add_up_command},
        {"sim", aliquot::sim::add_sim_command},
#define ALIQUOT_ROW(name, function, ...) {name, aliquot::cli::function __VA_OPT__(, ) __VA_ARGS__},
        ALIQUOT_CLI_COMMANDS(ALIQUOT_ROW)
#undef ALIQUOT_ROW
            {"simulate", aliquot::list_simulate_command},
        {"explain", aliquot::list_explain_command},
    });
    std::vector<char*> words = aliquot::cli::with_help_option(argc, argv);
    const int count = static_cast<int>(words.size()) - 1;
    if (const auto exit_code = aliquot::hand_over(count, words.data())) return *exit_code;
    const aliquot::cli::StandardOutput output;
    return aliquot::cli::run(count, words.data(), kCommands);
}
