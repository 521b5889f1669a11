// SPDX-License-Identifier: Apache-2.0
#include "cli/jobs/job_command.h"

#include "cli/commands.h"
#include "command_line/command.h"

namespace aliquot::cli {

void add_job_command(command_line::Command& program, Context& context) {
    command_line::Command* job = program.add_subcommand("job", "GPU jobs");
    job->require_subcommand(1);
    job->footer(
        "aliquot job template --image trainer:1.4 --gpu 2 --gpu-type a100 -- python3 train.py");
    add_job_template(*job, context);
}

}  // namespace aliquot::cli
