// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/command.h"

namespace aliquot::cli {

// The commands below `aliquot job`.
void add_job_template(command_line::Command& job, Context& context);
void add_job_forecast(command_line::Command& job, Context& context);
void add_job_submit(command_line::Command& job, Context& context);
void add_job_list(command_line::Command& job, Context& context);
void add_job_show(command_line::Command& job, Context& context);
void add_job_explain(command_line::Command& job, Context& context);
void add_job_logs(command_line::Command& job, Context& context);
void add_job_wait(command_line::Command& job, Context& context);
void add_job_cancel(command_line::Command& job, Context& context);
void add_job_suspend(command_line::Command& job, Context& context);
void add_job_resume(command_line::Command& job, Context& context);
void add_job_retry(command_line::Command& job, Context& context);
void add_job_delete(command_line::Command& job, Context& context);

}  // namespace aliquot::cli
