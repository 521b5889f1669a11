// SPDX-License-Identifier: Apache-2.0
#include "cli/jobs/job_command.h"

#include "cli/commands.h"
#include "command_line/command.h"

namespace aliquot::cli {

void add_job_command(command_line::Command& program, Context& context) {
    command_line::Command* job = program.add_subcommand(
        "job", "GPU jobs of this machine (aliquot serve keeps them), or of a cluster");
    job->require_subcommand(1);
    job->footer(
        "aliquot job submit --gpu 1 -- python3 train.py\n"
        "aliquot job list\n"
        "aliquot job logs -f 1\n"
        "aliquot job submit --context prod --queue vision --image trainer:1.4 --gpu 2 -- python3 "
        "train.py\n"
        "aliquot job template --image trainer:1.4 --gpu 2 --gpu-type a100 -- python3 train.py");
    for (const auto add :
         {add_job_submit, add_job_forecast, add_job_list, add_job_show, add_job_logs, add_job_wait,
          add_job_explain, add_job_cancel, add_job_suspend, add_job_resume, add_job_retry,
          add_job_delete, add_job_template}) {
        add(*job, context);
    }
}

}  // namespace aliquot::cli
