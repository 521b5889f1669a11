// SPDX-License-Identifier: Apache-2.0
// aliquot node label: labels that people put on nodes, owned by us and nobody else.
#include <algorithm>
#include <memory>
#include <ostream>

#include "base/text.h"
#include "cli/cluster/node_command.h"
#include "command_line/command.h"
#include "labels/labels.h"
#include "node/names.h"

namespace aliquot::cli {
namespace {

struct NodeLabelOptions {
    ClusterOptions cluster;
    NodeChoice choice;
    std::vector<std::string> given;
    std::vector<std::string> profiles;
    LabelChange change;
};

/// Sorts what was given into names and changes. False: it was said what is wrong.
bool sort_out(Context& context, NodeLabelOptions& words) {
    for (const std::string& word : words.given) {
        const auto sign = word.find('=');
        if (sign != std::string::npos) {
            const std::string key = word.substr(0, sign);
            if (key.empty()) {
                fail(context, kUsage, "'" + word + "' has no key; expected KEY=VALUE");
                return false;
            }
            words.change.set[key] = word.substr(sign + 1);
        } else if (word.ends_with('-')) {
            words.change.remove.push_back(word.substr(0, word.size() - 1));
        } else {
            words.choice.names.push_back(word);
        }
    }
    const auto dra = words.change.set.find(node::kDraLabel);
    if (dra != words.change.set.end() &&
        std::ranges::find(node::kDraModes, dra->second) == node::kDraModes.end()) {
        fail(
            context, kUsage,
            "label " + dra->first + " is '" + dra->second + "'; expected " + join(node::kDraModes));
        return false;
    }
    for (const std::string& key : words.change.remove) {
        if (!words.change.set.contains(key)) continue;
        fail(context, kUsage, "label " + key + " is to be set and to be removed");
        return false;
    }
    if (words.change.set.empty() && words.change.remove.empty() && words.profiles.empty()) {
        fail(context, kUsage, "which labels? expected KEY=VALUE, KEY- or --profile NAME");
        return false;
    }
    return true;
}

/// The labels of a profile by what the agent tells of the node's GPUs.
Result<labels::Labels> profile_labels(const node::GpuNode& node, const std::string& word) {
    const auto profile = labels::profile_of(word);
    gpu::Inventory inventory;
    for (const node::GpuStatus& told : node.gpus) {
        gpu::Gpu gpu{.index = told.index};
        gpu.uuid.text = told.uuid;
        gpu.model = told.model;
        gpu.memory_bytes = told.memory_mib << 20U;
        inventory.gpus.push_back(std::move(gpu));
    }
    if (inventory.gpus.empty() || !profile) {
        return Error{ErrorCode::kNotFound,
                     "node " + node.name() +
                         ": no agent of Aliquot has told which GPUs it has, so the profile '" +
                         word + "' is not known; give KEY=VALUE"};
    }
    const sharing::Offer nothing;
    return labels::profile_labels(*profile, {.inventory = inventory, .offer = nothing});
}

void say(Context& context, const node::GpuNode& node, const LabelOutcome& outcome, bool dry_run) {
    for (const std::string& key : outcome.foreign) {
        context.err << "aliquot: node/" << node.name() << ": label " << key
                    << " was not set by aliquot and stays; kubectl label node " << node.name()
                    << " " << key << "- removes it\n";
        context.exit_code = kFindings;
    }
    context.out << "node/" << node.name() << (outcome.changed ? " labeled" : " unchanged")
                << (dry_run && outcome.changed ? " (dry run)" : "") << '\n';
}

void label_nodes(Context& context, NodeLabelOptions& words) {
    if (!sort_out(context, words)) return;
    const auto connection = connect_cluster(context, words.cluster);
    if (!connection) return;
    const auto chosen = choose_nodes(context, *connection->api, words.cluster, words.choice);
    if (!chosen) return;
    for (const node::GpuNode& node : chosen->nodes) {
        LabelChange change = words.change;
        for (const std::string& word : words.profiles) {
            const auto labels = profile_labels(node, word);
            if (!labels) return fail(context, kCouldNotRun, labels.error().message);
            change.set.insert(labels->begin(), labels->end());
        }
        const auto outcome = change_labels(*connection->api, words.cluster, node.name(), change);
        if (outcome) {
            say(context, node, *outcome, change.dry_run);
            continue;
        }
        if (outcome.failure().is(kube_client::Reason::kConflict)) {
            context.err << "aliquot: somebody else has set that label; --force takes it over\n";
        }
        return fail(context, outcome.failure());
    }
}

}  // namespace

void add_node_label(command_line::Command& node, Context& context) {
    command_line::Command* command = node.add_subcommand(
        "label",
        "Set and remove labels of nodes; only labels that aliquot has set are removed\n\n"
        "The labels belong to the field manager aliquot (server-side apply): a label that somebody "
        "else\nhas set is neither changed (except with --force) nor removed.");
    command->footer(
        "aliquot node label gpu-1 gpu-2 team=vision\n"
        "aliquot node label -l accelerator=nvidia-tesla-a100 tier=training\n"
        "aliquot node label --all --profile type        # gpu-type=a2, gpu-memory=16gb\n"
        "aliquot node label gpu-1 team-                 # takes it away again");
    auto words = std::make_shared<NodeLabelOptions>();
    command
        ->add_option("NODE|KEY=VALUE|KEY-", words->given,
                     "Nodes, then labels to set (KEY=VALUE) or to remove (KEY-)", "...")
        ->complete_by("nodes");
    command->add_option("-l,--selector", words->choice.selector, "Nodes with these labels",
                        "SELECTOR");
    command->add_flag("--all", words->choice.all, "All nodes with GPUs");
    command
        ->add_option("--profile", words->profiles,
                     "Set the labels that follow from the node's GPUs; may be repeated",
                     "NAME (present, accelerator, model, resource, role, type)")
        ->one_of({"present", "accelerator", "model", "resource", "role", "type"});
    command->add_flag("--force", words->change.force, "Take over labels that others set");
    command->add_flag("--dry-run", words->change.dry_run,
                      "Let the API server validate it without changing anything");
    add_cluster_flags(*command, words->cluster);
    command->callback([words, &context] { label_nodes(context, *words); });
}

}  // namespace aliquot::cli
