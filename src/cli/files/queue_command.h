// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace aliquot::command_line {
class Command;
}

namespace aliquot::cli {

struct Context;

void add_queue_apply(command_line::Command& queue, Context& context);
void add_queue_list(command_line::Command& queue, Context& context);
void add_queue_show(command_line::Command& queue, Context& context);
void add_queue_pending(command_line::Command& queue, Context& context);
void add_queue_simulate(command_line::Command& queue, Context& context);

}  // namespace aliquot::cli
