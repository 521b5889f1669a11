// SPDX-License-Identifier: Apache-2.0
// aliquot uninstall: leaves the cluster and its nodes as they were.
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

#include "cli/answer.h"
#include "cli/cluster/cluster_flags.h"
#include "cli/cluster/step_line.h"
#include "cli/commands.h"
#include "command_line/command.h"
#include "install/uninstall.h"

namespace aliquot::cli {
namespace {

struct UninstallOptions {
    ClusterOptions cluster;
    std::string format = "text";
    std::string image;
    unsigned timeout_seconds = 120;
    bool dry_run = false;
    bool keep_config = false;
    bool no_clean_up = false;
};

void print_text(Context& context, const install::UninstallResult& result, bool dry_run) {
    const std::string verb = dry_run ? "would be removed" : "removed";
    for (const std::string& one : result.removed) context.out << one << " " << verb << "\n";
    for (const install::CleanedNode& node : result.nodes) {
        for (const std::string& one : node.removed) {
            context.out << "Node " << node.name << ": " << one << " " << verb << "\n";
        }
        if (!node.host.empty())
            context.out << "Node " << node.name << ": host " << node.host << "\n";
    }
    for (const std::string& one : result.kept) context.out << one << " kept\n";
    if (result.removed.empty() && result.nodes.empty()) context.out << "nothing of ours is there\n";
    for (const std::string& one : result.remains) context.out << "remains: " << one << "\n";
}

nlohmann::ordered_json json_of(const install::UninstallResult& result) {
    nlohmann::ordered_json nodes = nlohmann::ordered_json::array();
    for (const install::CleanedNode& node : result.nodes) {
        nodes.push_back({{"name", node.name}, {"removed", node.removed}, {"host", node.host}});
    }
    return {{"schemaVersion", 1},  {"removed", result.removed}, {"nodes", std::move(nodes)},
            {"kept", result.kept}, {"remains", result.remains}, {"problems", result.problems}};
}

void run(Context& context, const UninstallOptions& words) {
    auto connection = connect_cluster(context, words.cluster);
    if (!connection) return;
    const auto version = connection->api->get_raw("/version", call_of(words.cluster));
    if (!version) return fail(context, version.failure());
    StepLine line(context);
    const auto result = install::uninstall(
        *connection->api, {.dry_run = words.dry_run,
                           .keep_config = words.keep_config,
                           .clean_hosts = !words.no_clean_up,
                           .image = words.image,
                           .limit = std::chrono::seconds(words.timeout_seconds),
                           .progress = [&line](const std::string& step) { line.show(step); }});
    line.end();
    if (words.format == "text") {
        print_text(context, result, words.dry_run);
    } else {
        print_answer(context.out, "UninstallReport", json_of(result), words.format);
    }
    for (const std::string& one : result.problems) fail(context, kFindings, one);
}

}  // namespace

void add_uninstall_command(command_line::Command& program, Context& context) {
    command_line::Command* command = program.add_subcommand(
        "uninstall",
        "Remove everything that install added: agents, what they left on nodes, objects\n\n"
        "From a Node, only what the agent wrote is removed: it keeps a list there. May be run "
        "again.");
    command->footer(
        "aliquot uninstall --dry-run\n"
        "aliquot uninstall\n"
        "aliquot uninstall --keep-config -o json");
    auto words = std::make_shared<UninstallOptions>();
    command->add_flag("--dry-run", words->dry_run, "Only print what would be removed");
    command->add_flag("--keep-config", words->keep_config,
                      "Leave the ConfigMaps, and with them the namespace");
    command->add_flag(
        "--no-clean-up", words->no_clean_up,
        "Leave the agents' files on hosts: /var/lib/aliquot, /run/aliquot, the CDI file");
    command->add_option("--image", words->image,
                        "Image of the pods that clean up; default: the agent's", "REFERENCE");
    command
        ->add_option("--timeout", words->timeout_seconds, "Seconds to wait at each step",
                     "SECONDS (120)")
        ->range(1, 3600);
    add_output(*command, words->format, {"text"});
    add_cluster_flags(*command, words->cluster);
    command->callback([words, &context] { run(context, *words); });
}

}  // namespace aliquot::cli
