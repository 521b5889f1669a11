// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/command.h"

/// The table of commands, in the order of `aliquot --help`. A new command is X_command.cpp in files/, host/ or
/// cluster/, by what it needs, and a line here: the word on the command line, the function that declares
/// it, and whether it tells about all commands.
#define ALIQUOT_CLI_COMMANDS(COMMAND)                   \
    COMMAND("config", add_config_command)               \
    COMMAND("lint", add_lint_command)                   \
    COMMAND("doctor", add_doctor_command)               \
    COMMAND("plan", add_plan_command)                   \
    COMMAND("detect", add_detect_command)               \
    COMMAND("size", add_size_command)                   \
    COMMAND("image", add_image_command)                 \
    COMMAND("gpu", add_gpu_command)                     \
    COMMAND("mig", add_mig_command)                     \
    COMMAND("gate", add_gate_command)                   \
    COMMAND("top", add_top_command)                     \
    COMMAND("run", add_run_command)                     \
    COMMAND("job", add_job_command)                     \
    COMMAND("serve", add_serve_command)                 \
    COMMAND("cost", add_cost_command)                   \
    COMMAND("price", add_price_command)                 \
    COMMAND("bench", add_bench_command)                 \
    COMMAND("guard", add_guard_command)                 \
    COMMAND("metrics-api", add_metrics_api_command)     \
    COMMAND("install", add_install_command)             \
    COMMAND("uninstall", add_uninstall_command)         \
    COMMAND("version", add_version_command)             \
    COMMAND("completion", add_completion_command, true) \
    COMMAND("man", add_man_command, true)               \
    COMMAND("complete", add_complete_command)           \
    COMMAND("node", add_node_command)                   \
    COMMAND("verify", add_verify_command)               \
    COMMAND("placement", add_placement_command)         \
    COMMAND("pool", add_pool_command)                   \
    COMMAND("runner", add_runner_command)               \
    COMMAND("queue", add_queue_command)

namespace aliquot::cli {

#define ALIQUOT_DECLARE(name, function, ...) \
    void function(command_line::Command& program, Context& context);
ALIQUOT_CLI_COMMANDS(ALIQUOT_DECLARE)
#undef ALIQUOT_DECLARE

}  // namespace aliquot::cli
