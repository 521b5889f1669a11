// SPDX-License-Identifier: Apache-2.0
// aliquot node: the nodes of a cluster; what this one tells it.
#include "cli/cluster/node_command.h"

#include <array>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/host/node_offer.h"
#include "command_line/command.h"
#include "labels/labels.h"
#include "labels/sysfs.h"
#include "os/root.h"

namespace aliquot::cli {
namespace {

struct NodeLabelsOptions {
    OfferOptions node;
    std::vector<std::string> profiles;
    std::string mig_strategy;
    std::string format = "text";
    bool no_features = false;
};

sharing::MigStrategy mig_strategy(const NodeLabelsOptions& words, const sharing::Config& config) {
    if (words.mig_strategy == "none") return sharing::MigStrategy::kNone;
    if (words.mig_strategy == "single") return sharing::MigStrategy::kSingle;
    if (words.mig_strategy == "mixed") return sharing::MigStrategy::kMixed;
    return config.flags.mig_strategy.value_or(sharing::MigStrategy::kNone);
}

void print_labels(Context& context, const NodeLabelsOptions& words) {
    auto node = look_at_node_offer(context, words.node);
    if (!node) return;
    const auto strategy = mig_strategy(words, node->config);
    if (node->config.flags.mig_strategy != strategy) {
        node->config.flags.mig_strategy = strategy;
        auto offer = sharing::make_offer(node->config, node->inventory);
        if (!offer) return fail(context, kFindings, offer.error().message);
        node->offer = *std::move(offer);
    }
    const os::Root root(host_of(words.node.driver));
    const labels::NodeFacts facts{.inventory = node->inventory,
                                  .offer = node->offer,
                                  .mig_strategy = strategy,
                                  .machine = labels::machine_name(root),
                                  .pci_class = labels::pci_classes(root, node->inventory)};
    labels::Labels all;
    if (!words.no_features) all = labels::feature_labels(facts);
    for (const std::string& word : words.profiles) {
        const auto profile = labels::profile_of(word);
        if (profile) all.merge(labels::profile_labels(*profile, facts));
    }
    if (words.format == "text") {
        context.out << labels::to_feature_file(all);
        return;
    }
    // Each label stands beside `labels`, too, as they did before there was an envelope.
    nlohmann::ordered_json json{{"labels", all}};
    json.update(nlohmann::ordered_json(all));
    print_answer(context.out, "NodeLabels", json, words.format);
}

}  // namespace

void add_node_command(command_line::Command& program, Context& context) {
    command_line::Command* node =
        program.add_subcommand("node", "Show, label and configure the GPU nodes of a cluster");
    node->require_subcommand(1);
    node->footer(
        "aliquot node list\n"
        "aliquot node show gpu-1\n"
        "aliquot node config set gpu-1 quarters --wait");
    add_node_list(*node, context);
    add_node_show(*node, context);
    add_node_label(*node, context);
    add_node_config(*node, context);
    command_line::Command* command = node->add_subcommand(
        "labels", "Print the labels that this node has by its GPUs and its sharing configuration");
    command->footer(
        "aliquot node labels sharing.yaml\n"
        "aliquot node labels --profile type --profile model --node-state /tmp/node\n"
        "kubectl label node gpu-1 $(aliquot node labels sharing.yaml)");
    auto words = std::make_shared<NodeLabelsOptions>();
    add_offer_options(*command, words->node, FileArgument::kOptional);
    command
        ->add_option("--profile", words->profiles,
                     "Also add labels as people set them by hand; may be repeated",
                     "NAME (present, accelerator, model, resource, role, type)")
        ->one_of({"present", "accelerator", "model", "resource", "role", "type"});
    command->add_flag("--no-features", words->no_features,
                      "Leave out the labels of NVIDIA's gpu-feature-discovery");
    command
        ->add_option("--mig-strategy", words->mig_strategy, "Instead of the configuration's",
                     "STRATEGY (none, single, mixed)")
        ->one_of({"none", "single", "mixed"});
    add_output(*command, words->format, {"text"});
    command->callback([words, &context] { print_labels(context, *words); });
}

}  // namespace aliquot::cli
