// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <ostream>

#include "cli/answer.h"
#include "cmd/aliquot-placement/commands.h"
#include "cmd/aliquot-placement/placement_input.h"
#include "command_line/command.h"
#include "sim/trace/explanation.h"

namespace aliquot::cli {
namespace {

struct ExplainOptions {
    PlacementOptions placement;
    std::string pod;
    std::optional<std::size_t> after;
    unsigned top = 5;
};

void explain(Context& context, const ExplainOptions& words) {
    const auto scenario = read_scenario(words.placement);
    if (!scenario) return fail(context, kUsage, scenario.error().message);
    const auto row = sim::trace::find_task(scenario->tasks, words.pod);
    if (!row) return fail(context, kUsage, row.error().message);
    const sim::trace::Question question{.row = *row, .after = words.after, .top = words.top};
    const auto told = sim::trace::explain(*scenario, replay_options(words.placement), question);
    if (!told) {
        const bool usage = told.error().code == ErrorCode::kNotFound;
        return fail(context, usage ? kUsage : kCouldNotRun, told.error().message);
    }
    if (words.placement.format == "text") {
        sim::trace::print_explanation(context.out, *scenario, *told);
    } else {
        print_simulated(context, "PlacementExplanation",
                        sim::trace::explanation_json(*scenario, *told), words.placement.format);
    }
}

}  // namespace

void add_explain_command(command_line::Command& program, Context& context) {
    command_line::Command* explanations = program.add_subcommand(
        "explain", "Explain why a task was placed where it was, or not at all");
    explanations->footer(
        "aliquot explain placement --nodes nodes.csv --pods pods.csv --pod trainer-3");
    command_line::Command* command = explanations->add_subcommand(
        "placement",
        "Explain one decision: the place, the next best ones, and what each would have cost\n\n"
        "Replays the same arrivals as 'aliquot simulate placement' up to the task, so the same\n"
        "files and options give the same decision.");
    command->footer(
        "aliquot explain placement --nodes nodes.csv --pods pods.csv --pod trainer-3\n"
        "aliquot explain placement --nodes nodes.csv --pods pods.csv --order order.csv --pod 17 "
        "--policy fgd -o json\n"
        "aliquot explain placement --nodes nodes.csv --pods pods.csv --pod trainer-3 --after 500   "
        "# what if it came then");
    auto words = std::make_shared<ExplainOptions>();
    add_placement_options(*command, words->placement);
    command
        ->add_option("--pod", words->pod, "Name of the task, or its row in the list, from 0",
                     "NAME|ROW")
        ->required();
    command->add_option("--after", words->after,
                        "Show what it would get after this many arrivals; default: what it got",
                        "NUMBER");
    command->add_option("--top", words->top, "How many other nodes to show (5)", "NUMBER")
        ->range(0U, 1000U);
    add_output(*command, words->placement.format, {"text"});
    command->callback([words, &context] { explain(context, *words); });
}

}  // namespace aliquot::cli
