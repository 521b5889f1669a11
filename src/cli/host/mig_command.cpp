// SPDX-License-Identifier: Apache-2.0
#include "cli/host/mig_command.h"

#include <filesystem>

#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/svg_file.h"
#include "command_line/command.h"

namespace aliquot::cli {
namespace {

using Act = void (*)(Context& context, const MigOptions& words);

void add_node(command_line::Command* command, MigOptions& words) {
    add_driver_flags(*command, words.driver);
    command->add_option(
        "--pod-resources-socket", words.pod_resources,
        "Kubelet's socket that tells which pods hold GPUs; none: do not check pods and claims",
        "FILE");
}

void add_state(command_line::Command* command, MigOptions& words) {
    words.state = mig::kDefaultStateDirectory;
    command->add_option("--state", words.state, "Where changes are recorded", "DIR")
        ->transform(
            [](const std::string& path) { return std::filesystem::absolute(path).native(); });
}

void add_choice(command_line::Command* command, MigOptions& words) {
    command->add_option("--gpu-index,--uuid", words.gpus, "Which GPUs, separated by commas", "GPU")
        ->delimiter(',');
    command->add_flag("--all", words.all, "All GPUs of this node that have MIG");
}

void add_spec(command_line::Command* command, MigOptions& words, bool positional) {
    if (positional) {
        command->add_option("FILE", words.file, "Configurations, as mig-parted reads them", " ");
    } else {
        command->add_option("-f,--config", words.file, "Configurations, as mig-parted reads them",
                            "FILE");
    }
    command->add_option("--select", words.select, "Which configuration of the file", "NAME");
    command->add_option(
        "--want", words.want,
        "3g.20gb,1g.5gb*4; slices=2*3; memory=10Gi*2; none: no instance; off: no MIG", "INSTANCES");
}

void add_busy(command_line::Command* command, MigOptions& words) {
    command->add_flag("--leave-busy", words.leave_busy,
                      "Allow busy instances that were not requested to stay");
    command->add_flag("--no-reset", words.no_reset, "Refuse what needs a reset of a GPU");
}

command_line::Command* add(command_line::Command& group, Context& context,
                           const std::shared_ptr<MigOptions>& words, const std::string& name,
                           const std::string& description, Act act) {
    command_line::Command* command = group.add_subcommand(name, description);
    command->callback([words, &context, act] { act(context, *words); });
    return command;
}

void add_reading(command_line::Command& group, Context& context) {
    auto words = std::make_shared<MigOptions>();
    command_line::Command* command =
        add(group, context, words, "profiles", "List the MIG profiles of a GPU and where they fit",
            mig_profiles);
    command->footer("aliquot mig profiles --gpu a100-40\naliquot mig profiles -o json");
    command
        ->add_option("--gpu", words->model, "A model from the tables; default: this node's GPUs",
                     "MODEL")
        ->complete_by("gpu-models");
    add_node(command, *words);
    add_output(*command, words->format);

    words = std::make_shared<MigOptions>();
    command = add(group, context, words, "list",
                  "List how this node's GPUs are partitioned, what is in use and what still fits",
                  mig_list);
    command->footer("aliquot mig list\naliquot mig list --node-state /tmp/node -o json");
    add_node(command, *words);
    add_state(command, *words);
    add_output(*command, words->format);

    words = std::make_shared<MigOptions>();
    words->format = "yaml";
    command = add(group, context, words, "export",
                  "Print how this node's GPUs are partitioned, as a mig-parted configuration",
                  mig_export);
    command->footer("aliquot mig export > now.yaml\naliquot mig export -o json --label before");
    command->add_option("--label", words->label, "Name of the configuration", "NAME");
    add_node(command, *words);
    add_output(*command, words->format, {});

    words = std::make_shared<MigOptions>();
    command =
        add(group, context, words, "assert",
            "Check whether this node's GPUs are partitioned as a configuration says\n\n"
            "Exit code 0: they are; 1: a GPU is not; 2: usage error or invalid file; 3: no driver.",
            mig_assert);
    command->footer("aliquot mig assert --config mig.yaml --select all-balanced");
    add_spec(command, *words, false);
    add_choice(command, *words);
    add_node(command, *words);
}

void add_plan(command_line::Command& group, Context& context) {
    auto words = std::make_shared<MigOptions>();
    command_line::Command* command = add(
        group, context, words, "plan",
        "Plan the steps from the existing instances to the requested ones\n\n"
        "Tries all placements: if there is one it is found. Busy instances stay where they are;\n"
        "the fewest steps win, then what leaves the most room. With --gpu it needs no driver.\n"
        "Exit code 0: possible; 1: not possible, with the reason and the nearest alternative.",
        mig_plan);
    command->footer(
        "aliquot mig plan --gpu a100-40 --want 3g.20gb,1g.5gb*4\n"
        "aliquot mig plan --gpu a100-40 --now 3g.20gb@0,1g.5gb@4:busy --want 3g.20gb,1g.5gb*3 -o "
        "json\n"
        "aliquot mig plan --gpu a100-40 --now 1g.5gb@0 --want 3g.20gb*2 --svg plan.svg\n"
        "aliquot mig plan mig.yaml --select all-balanced    # for this node's GPUs");
    add_spec(command, *words, true);
    command->add_option("--gpu", words->model, "Plan for a model from the tables", "MODEL")
        ->complete_by("gpu-models");
    command->add_option("--now", words->now,
                        "With --gpu: the existing instances, PROFILE@START[:busy]", "INSTANCES");
    add_choice(command, *words);
    add_busy(command, *words);
    add_node(command, *words);
    add_output(*command, words->format);
    add_svg_flag(*command, words->svg, "the instances now and after as a picture");
}

void add_apply(command_line::Command& group, Context& context) {
    auto words = std::make_shared<MigOptions>();
    command_line::Command* command = add(
        group, context, words, "apply",
        "Partition GPUs as a configuration says, all of them or none\n\n"
        "Plans every GPU before it touches one. Busy instances and GPUs that are not named are\n"
        "never touched. If it is killed, the next apply finishes the change; after a "
        "failure,\nevery GPU is restored to its previous state.\n"
        "Exit code 0: done; 1: refused or rolled back, with the reason; 3: no driver.",
        mig_apply);
    command->footer(
        "aliquot mig apply --config mig.yaml --select all-balanced\n"
        "aliquot mig apply --gpu-index 0 --want 3g.20gb,1g.5gb*4 --dry-run\n"
        "aliquot mig apply --restore      # after a reboot: as it was applied last");
    add_spec(command, *words, false);
    add_choice(command, *words);
    command->add_flag("--restore", words->restore,
                      "Restore the last applied partitions of GPUs that have no instances");
    command->add_flag("--dry-run", words->dry_run, "Only print what would be done");
    add_busy(command, *words);
    add_state(command, *words);
    command
        ->add_option("--timeout", words->limit_s,
                     "Timeout of the whole change; a rollback may take as long again", "SECONDS")
        ->range(1U, 3600U);
    command
        ->add_option("--wait", words->wait_s, "How long to wait for another apply to finish",
                     "SECONDS")
        ->range(0U, 3600U);
    add_node(command, *words);
    add_output(*command, words->format);
}

}  // namespace

void add_mig_command(command_line::Command& program, Context& context) {
    command_line::Command* group = program.add_subcommand(
        "mig", "Partition GPUs into MIG instances: what fits, how to get there, and doing it");
    group->footer(
        "aliquot mig profiles --gpu a100-40\n"
        "aliquot mig plan --gpu a100-40 --want 3g.20gb,1g.5gb*4\n"
        "aliquot mig apply --config mig.yaml --select all-balanced");
    add_reading(*group, context);
    add_plan(*group, context);
    add_apply(*group, context);
}

}  // namespace aliquot::cli
