// SPDX-License-Identifier: Apache-2.0
// aliquot node list: what the nodes of a cluster have, offer and give away.
#include <algorithm>
#include <chrono>
#include <memory>
#include <ostream>
#include <thread>

#include "cli/answer.h"
#include "cli/cluster/node_picture.h"
#include "command_line/command.h"

namespace aliquot::cli {
namespace {

struct NodeListOptions {
    ClusterOptions cluster;
    std::string selector;
    std::string format = "table";
    bool all = false;
    bool watch = false;
};

std::optional<NodePicture> look(Context& context, kube_client::Api& api,
                                const NodeListOptions& words) {
    auto nodes = read_nodes(context, api, words.cluster, words.selector);
    if (!nodes) return std::nullopt;
    NodePicture picture{.nodes = *std::move(nodes)};
    if (!picture.nodes.nodes.empty()) {
        picture.holders = read_holders(api, words.cluster, "", picture.holders_problem);
        read_claims(api, words.cluster, picture.nodes, picture.holders, picture.claims_problem);
    }
    if (!words.all) {
        std::erase_if(picture.nodes.nodes,
                      [](const node::GpuNode& one) { return !one.has_gpus(); });
    }
    return picture;
}

/// Prints a row whenever it has changed, until somebody ends us or the API server does.
void follow(Context& context, kube_client::Api& api, const NodeListOptions& words,
            NodePicture picture) {
    constexpr std::chrono::seconds kLookAgain{10};
    constexpr std::chrono::seconds kLeastPause{1};
    const bool wide = words.format == "wide";
    std::map<std::string, Row> shown;
    for (const auto& node : picture.nodes.nodes) shown[node.name()] = node_row(picture, node, wide);
    while (true) {
        const auto watch = api.watch(kube_client::resources::nodes(),
                                     {.label_selector = words.selector,
                                      .resource_version = picture.nodes.resource_version,
                                      .metadata_only = true},
                                     call_of(words.cluster));
        if (watch) {
            const auto batch = (*watch)->next(kLookAgain);
            if (!batch && !batch.failure().is_expired() &&
                !batch.failure().is(kube_client::Reason::kUnreachable)) {
                return fail(context, batch.failure());
            }
        } else if (!watch.failure().is_expired()) {
            return fail(context, watch.failure());
        }
        std::this_thread::sleep_for(kLeastPause);  // one look for all that happens at once
        auto now = look(context, api, words);
        if (!now) return;
        picture = *std::move(now);
        std::vector<Row> changed;
        for (const auto& node : picture.nodes.nodes) {
            Row row = node_row(picture, node, wide);
            if (shown[node.name()] == row) continue;
            shown[node.name()] = row;
            changed.push_back(std::move(row));
        }
        std::erase_if(shown, [&](const auto& one) {
            const bool gone = std::ranges::find(picture.nodes.nodes, one.first,
                                                &node::GpuNode::name) == picture.nodes.nodes.end();
            if (gone) context.out << one.first << "  is gone\n";
            return gone;
        });
        if (!changed.empty()) print_rows(context.out, changed);
        context.out.flush();
    }
}

void list(Context& context, const NodeListOptions& words) {
    if (words.watch && words.format != "table" && words.format != "wide") {
        return fail(context, kUsage,
                    "--watch prints a table; -o " + words.format + " does not fit");
    }
    const auto connection = connect_cluster(context, words.cluster);
    if (!connection) return;
    auto picture = look(context, *connection->api, words);
    if (!picture) return;
    tell_problems(context, *picture);
    const bool wide = words.format == "wide";
    if (wide || words.format == "table") {
        if (picture->nodes.nodes.empty()) {
            context.err << "aliquot: no node has a GPU"
                        << (words.selector.empty() ? "" : " and the labels " + words.selector)
                        << "; --all lists every node\n";
        } else {
            std::vector<Row> rows{node_heading(wide)};
            for (const auto& node : picture->nodes.nodes) {
                rows.push_back(node_row(*picture, node, wide));
            }
            print_rows(context.out, rows);
        }
    } else {
        print_nodes(context, words.format, *picture);
    }
    const bool well = std::ranges::all_of(picture->nodes.nodes, &node::GpuNode::is_well);
    context.exit_code = well ? kOk : kFindings;
    if (words.watch) {
        context.out.flush();
        follow(context, *connection->api, words, *std::move(picture));
    }
}

}  // namespace

void add_node_list(command_line::Command& node, Context& context) {
    command_line::Command* command = node.add_subcommand(
        "list",
        "List the GPU nodes of the cluster: GPUs, shares and how many of them pods hold, health\n\n"
        "SHARES is RESOURCE HELD/USABLE, of GPUs handed out by ResourceClaims DRIVER "
        "HELD/USABLE.\nExit code 0: everything is healthy; 1: a GPU is "
        "unhealthy\nor a configuration is refused.");
    command->footer(
        "aliquot node list\n"
        "aliquot node list -o wide -l nvidia.com/gpu.product=NVIDIA-A2-SHARED\n"
        "aliquot node list --context prod -o json\n"
        "aliquot node list -w        # prints a node again when it changes");
    auto words = std::make_shared<NodeListOptions>();
    command->add_option("-l,--selector", words->selector, "Nodes with these labels", "SELECTOR");
    command->add_flag("--all", words->all, "Include nodes without GPUs");
    command->add_flag("-w,--watch", words->watch,
                      "Keep watching, and print a node again when it changes");
    add_output(*command, words->format, {"table", "wide"});
    add_cluster_flags(*command, words->cluster);
    command->callback([words, &context] { list(context, *words); });
}

}  // namespace aliquot::cli
