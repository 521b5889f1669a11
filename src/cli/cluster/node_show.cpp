// SPDX-License-Identifier: Apache-2.0
// aliquot node show: all that is known of one node.
#include <memory>
#include <ostream>

#include "base/sentence.h"
#include "base/text.h"
#include "cli/answer.h"
#include "cli/cluster/node_picture.h"
#include "command_line/command.h"
#include "node/names.h"

namespace aliquot::cli {
namespace {

struct NodeShowOptions {
    ClusterOptions cluster;
    std::string name;
    std::string format = "table";
};

void print_gpus(std::ostream& out, const node::GpuNode& node) {
    if (node.gpus.empty()) return;
    out << '\n';
    std::vector<Row> rows{{"GPU", "MODEL", "MEMORY", "MIG", "HEALTH", "SINCE", "UUID"}};
    for (const node::GpuStatus& gpu : node.gpus) {
        std::string devices = join(gpu.mig_devices, ",");
        rows.push_back({std::to_string(gpu.index), gpu.model,
                        std::to_string(gpu.memory_mib) + "MiB",
                        gpu.mig ? (devices.empty() ? "on" : devices) : "",
                        gpu.healthy ? (gpu.reason.empty() ? "healthy" : gpu.reason)
                                    : "unhealthy: " + gpu.reason,
                        gpu.since, gpu.uuid});
    }
    print_rows(out, rows);
    for (const node::GpuStatus& gpu : node.gpus) {
        if (!gpu.advice.empty()) out << "\nGPU " << gpu.index << ": " << gpu.advice << '\n';
    }
}

void print_resources(std::ostream& out, const NodePicture& picture, const node::GpuNode& node) {
    if (node.capacity.empty()) return;
    out << '\n';
    std::vector<Row> rows{{"RESOURCE", "DEVICES", "USABLE", "HELD", "SHARED BY"}};
    for (const auto& [resource, count] : node.capacity) {
        const auto healthy = node.allocatable.find(resource);
        rows.push_back({resource, std::to_string(count),
                        std::to_string(healthy == node.allocatable.end() ? 0 : healthy->second),
                        picture.holders_problem.empty()
                            ? std::to_string(held(picture, node.name(), resource))
                            : "?",
                        mechanism_text(node, resource)});
    }
    print_rows(out, rows);
}

std::string state_text(const node::ClaimDevice& device) {
    if (!device.published) return "not published any more";
    if (device.tainted) return "tainted";
    if (!device.fits) return "cut";
    return device.shared ? "shared" : "";
}

/// A row for each claim of a device, or one for a device that nobody has.
void print_claim_devices(std::ostream& out, const node::GpuNode& node) {
    if (node.claim_devices.empty()) return;
    out << '\n';
    std::vector<Row> rows{{"DRIVER", "DEVICE", "TYPE", "STATE", "CLAIM", "TAKES", "UUID"}};
    unsigned to_be_made = 0;
    for (const node::ClaimDevice& device : node.claim_devices) {
        if (!device.is_there()) {
            to_be_made += device.fits ? 1 : 0;
            continue;
        }
        const auto row = [&](const std::string& claim, const std::string& takes) {
            rows.push_back({device.driver, device.name, device.kind, state_text(device), claim,
                            takes, device.uuid});
        };
        for (const node::ClaimShare& share : device.held) {
            row(share.claim, share.takes.empty() ? "all" : share.takes);
        }
        if (device.held.empty()) row("", "");
    }
    print_rows(out, rows);
    if (to_be_made > 0) {
        out << "MIG devices that would be made for a claim, as far as they fit beside each other: "
            << to_be_made << '\n';
    }
}

void print_holders(std::ostream& out, const NodePicture& picture, const node::GpuNode& node) {
    const auto found = picture.holders.find(node.name());
    if (found == picture.holders.end()) return;
    out << '\n';
    std::vector<Row> rows{{"POD", "HOLDS"}};
    for (const node::Holder& holder : found->second) {
        std::vector<std::string> held;
        const std::string devices = listed(holder.devices, [](const auto& one) {
            return std::to_string(one.second) + " " + one.first;
        });
        if (!devices.empty()) held.push_back(devices);
        for (const auto& claimed : holder.claimed) held.push_back(claimed_text(claimed));
        rows.push_back({holder.pod, join(held, "; ")});
    }
    print_rows(out, rows);
}

void print_one(std::ostream& out, const NodePicture& picture, const node::GpuNode& node) {
    const auto line = [&](const char* name, const std::string& value) {
        if (value.empty()) return;
        out << name << std::string(14 - std::string_view(name).size(), ' ') << value << '\n';
    };
    line("Node", node.name());
    line("Status", status_text(node) + (node.object.kubelet_version.empty()
                                            ? ""
                                            : "  kubelet " + node.object.kubelet_version));
    line("GPUs", node.models());
    line("Health", health_text(node));
    line("Agent", node.agent.empty() ? "none of Aliquot has written here" : node.agent);
    line("Config",
         config_text(node) +
             (node.config ? "  (" + std::string(to_text(node.config->source)) + ")" : ""));
    line("MIG", mig_text(node));
    line("Taints", taints_text(node));
    print_gpus(out, node);
    print_resources(out, picture, node);
    print_claim_devices(out, node);
    print_holders(out, picture, node);
    for (const char* const type : node::kConditions) {
        const auto* const told = node.object.find(type);
        if (told == nullptr) continue;
        out << '\n' << type << ": " << (told->is_true() ? "True" : "False") << ", " << told->reason;
        if (!told->transition.empty()) out << ", since " << told->transition;
        out << "\n  " << told->message << '\n';
    }
}

void show(Context& context, const NodeShowOptions& words) {
    const auto connection = connect_cluster(context, words.cluster);
    if (!connection) return;
    const NodeChoice choice{.names = {words.name}};
    auto chosen = choose_nodes(context, *connection->api, words.cluster, choice);
    if (!chosen) return;
    NodePicture picture{.nodes = *std::move(chosen)};
    picture.holders =
        read_holders(*connection->api, words.cluster, words.name, picture.holders_problem);
    read_claims(*connection->api, words.cluster, picture.nodes, picture.holders,
                picture.claims_problem);
    tell_problems(context, picture);
    const node::GpuNode& node = picture.nodes.nodes.front();
    if (words.format == "table") {
        print_one(context.out, picture, node);
    } else {
        print_node(context, words.format, picture, node);
    }
    context.exit_code = node.is_well() ? kOk : kFindings;
}

}  // namespace

void add_node_show(command_line::Command& node, Context& context) {
    command_line::Command* command = node.add_subcommand(
        "show", "Show everything known about one node: GPUs with advice, shares, pods, conditions");
    command->footer("aliquot node show gpu-1\naliquot node show gpu-1 -o yaml");
    auto words = std::make_shared<NodeShowOptions>();
    command->add_option("NODE", words->name, "Its name", " ")->required()->complete_by("nodes");
    add_output(*command, words->format);
    add_cluster_flags(*command, words->cluster);
    command->callback([words, &context] { show(context, *words); });
}

}  // namespace aliquot::cli
