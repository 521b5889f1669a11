// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "cli/command.h"
#include "cli/verify_command.h"
#include "cmd/aliquot/sim_command.h"
#include "cmd/aliquot/up_command.h"

int main(int argc, char** argv) {
    constexpr auto kCommands = std::to_array<aliquot::cli::AddCommand>({
        aliquot::up::add_up_command,        aliquot::sim::add_sim_command,
        aliquot::cli::add_config_command,   aliquot::cli::add_lint_command,
        aliquot::cli::add_doctor_command,   aliquot::cli::add_plan_command,
        aliquot::cli::add_detect_command,   aliquot::cli::add_size_command,
        aliquot::cli::add_gpu_command,      aliquot::cli::add_mig_command,
        aliquot::cli::add_top_command,      aliquot::cli::add_run_command,
        aliquot::cli::add_guard_command,    aliquot::cli::add_metrics_api_command,
        aliquot::cli::add_install_command,  aliquot::cli::add_uninstall_command,
        aliquot::cli::add_simulate_command, aliquot::cli::add_explain_command,
        aliquot::cli::add_version_command,  aliquot::cli::add_completion_command,
        aliquot::cli::add_node_command,     aliquot::cli::add_verify_command,
    });
    return aliquot::cli::run(argc, argv, kCommands);
}
