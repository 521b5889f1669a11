// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "cli/command.h"
#include "cmd/aliquot/placement_handover.h"
#include "cmd/aliquot/sim_command.h"
#include "cmd/aliquot/up_command.h"

int main(int argc, char** argv) {
    constexpr auto kCommands = std::to_array<aliquot::cli::Command>({
        {"up", aliquot::up::add_up_command},
        {"sim", aliquot::sim::add_sim_command},
        {"config", aliquot::cli::add_config_command},
        {"lint", aliquot::cli::add_lint_command},
        {"doctor", aliquot::cli::add_doctor_command},
        {"plan", aliquot::cli::add_plan_command},
        {"detect", aliquot::cli::add_detect_command},
        {"size", aliquot::cli::add_size_command},
        {"gpu", aliquot::cli::add_gpu_command},
        {"mig", aliquot::cli::add_mig_command},
        {"top", aliquot::cli::add_top_command},
        {"run", aliquot::cli::add_run_command},
        {"guard", aliquot::cli::add_guard_command},
        {"metrics-api", aliquot::cli::add_metrics_api_command},
        {"install", aliquot::cli::add_install_command},
        {"uninstall", aliquot::cli::add_uninstall_command},
        {"simulate", aliquot::list_simulate_command},
        {"explain", aliquot::list_explain_command},
        {"version", aliquot::cli::add_version_command},
        {"completion", aliquot::cli::add_completion_command, true},
        {"node", aliquot::cli::add_node_command},
        {"verify", aliquot::cli::add_verify_command},
    });
    if (const auto exit_code = aliquot::hand_over(argc, argv)) return *exit_code;
    return aliquot::cli::run(argc, argv, kCommands);
}
