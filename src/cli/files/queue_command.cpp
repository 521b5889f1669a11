// SPDX-License-Identifier: Apache-2.0
// aliquot queue: what waits for GPUs, and how long it would under which rules.
#include "cli/files/queue_command.h"

#include "cli/commands.h"
#include "command_line/command.h"

namespace aliquot::cli {

void add_queue_command(command_line::Command& program, Context& context) {
    command_line::Command* queue = program.add_subcommand(
        "queue", "Queues of GPU jobs: their quotas, who waits and until when, policies on traces");
    queue->require_subcommand(1);
    queue->footer(
        "aliquot queue pending\n"
        "aliquot queue apply -f queues.yaml --context prod\n"
        "aliquot queue simulate --gpus 64\n"
        "aliquot queue simulate --trace jobs.csv --gpus 128 --policy best-effort,aliquot");
    for (const auto add :
         {add_queue_list, add_queue_show, add_queue_pending, add_queue_apply, add_queue_simulate}) {
        add(*queue, context);
    }
}

}  // namespace aliquot::cli
