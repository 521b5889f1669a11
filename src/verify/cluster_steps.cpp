// SPDX-License-Identifier: Apache-2.0
// What the cluster says of its GPU nodes and of the agent.
#include <algorithm>
#include <map>

#include "base/sentence.h"
#include "verify/session.h"

namespace aliquot::verify {
namespace {

std::string offer_text(const node::GpuNode& node) {
    std::string text;
    for (const auto& [resource, count] : node.allocatable) {
        if (count == 0) continue;
        text += (text.empty() ? "" : ", ") + std::to_string(count) + " " + resource;
    }
    std::map<std::string, unsigned> devices;
    for (const node::ClaimDevice& one : node.claim_devices)
        devices[one.driver] += one.usable() && one.is_there();
    for (const auto& [driver, count] : devices) {
        if (count == 0) continue;
        text += (text.empty() ? "" : ", ") + std::to_string(count) + " of " + driver + " by claims";
    }
    return text;
}

/// What nodes hand out by claims; where that cannot be read it is said, and taken to be nothing.
node::ClaimDevices claim_devices(Session& session) {
    auto devices = node::read_claim_devices(session.api, session.call());
    if (devices) return *std::move(devices);
    session.refused("claims", "", devices.failure());
    return {};
}

std::vector<node::GpuNode> gpu_nodes(Session& session) {
    auto page = session.api.list(kube_client::resources::nodes(), {.keep_managed_fields = false},
                                 session.call());
    if (!page) {
        session.failed("nodes", "", page.failure().message, "",
                       "look at the kubeconfig and its context; the right needed is: list nodes");
        return {};
    }
    auto by_claims = claim_devices(session);
    std::vector<node::GpuNode> nodes;
    bool known = false;
    for (const kube_client::Object& object : page->items) {
        auto node = node::read_gpu_node(object.json);
        if (!node) continue;
        node->claim_devices = std::move(by_claims[node->name()]);
        known = known || node->name() == session.options.node;
        const bool asked = session.options.node.empty() || node->name() == session.options.node;
        if (asked && !offer_text(*node).empty()) nodes.push_back(*std::move(node));
    }
    if (nodes.empty() && !session.options.node.empty()) {
        session.failed("nodes", "",
                       known ? "node " + session.options.node + " offers no GPU"
                             : "there is no node " + session.options.node,
                       "", "aliquot node list --all; aliquot doctor node " + session.options.node);
    } else if (nodes.empty()) {
        session.failed("nodes", "",
                       "none of " + counted(page->items.size(), "node") + " offers a GPU", "",
                       "aliquot doctor cluster");
    } else {
        std::string evidence = listed(
            nodes, [](const auto& node) { return node.name() + ": " + offer_text(node); }, "; ");
        session.ok(
            "nodes", "",
            counted(nodes.size(), "node") + (nodes.size() == 1 ? " offers" : " offer") + " GPUs",
            evidence);
    }
    std::ranges::sort(nodes, {}, [](const node::GpuNode& one) { return one.name(); });
    return nodes;
}

/// Fills in the agent's pods. The image of one of them.
void find_pods(Session& session) {
    auto pods = session.api.list(
        kube_client::resources::pods(),
        {.namespace_name = session.options.agent_namespace,
         .label_selector = "app.kubernetes.io/name=aliquot,app.kubernetes.io/component=agent",
         .keep_managed_fields = false},
        session.call());
    if (!pods) return;  // the metrics say so
    for (const kube_client::Object& pod : pods->items) {
        const auto node = kube_client::string_at(pod.json, "/spec/nodeName");
        const auto phase = kube_client::string_at(pod.json, "/status/phase");
        if (node && phase == "Running") session.agent_pods[*node] = pod.name;
    }
}

void look_at_agent(Session& session) {
    const std::string& space = session.options.agent_namespace;
    const auto set = session.api.get(kube_client::resources::daemon_sets(),
                                     {space, "aliquot-agent"}, session.call());
    if (session.image.empty()) session.image = "ghcr.io/aliquot/aliquot:" ALIQUOT_VERSION;
    if (!set && set.failure().is(kube_client::Reason::kNotFound)) {
        return session.skipped("agent", "",
                               "there is no DaemonSet " + space +
                                   "/aliquot-agent: GPUs of another device plugin are verified");
    }
    if (!set) return session.refused("agent", "", set.failure());
    if (session.options.image.empty()) {
        const auto image =
            kube_client::string_at(set->json, "/spec/template/spec/containers/0/image");
        if (image) session.image = *image;
    }
    const auto number = [&](const char* pointer) {
        return kube_client::integer_at(set->json, pointer).value_or(0);
    };
    const auto wanted = number("/status/desiredNumberScheduled");
    const auto ready = number("/status/numberReady");
    const auto updated = number("/status/updatedNumberScheduled");
    find_pods(session);
    const std::string evidence = "desired " + std::to_string(wanted) + ", ready " +
                                 std::to_string(ready) + ", of the newest template " +
                                 std::to_string(updated);
    if (wanted > 0 && ready == wanted) {
        return session.ok("agent", "",
                          "the agent is ready on " +
                              counted(static_cast<std::size_t>(ready), "node") + " (" +
                              session.image + ")",
                          evidence);
    }
    session.failed("agent", "",
                   wanted == 0 ? "the DaemonSet " + space + "/aliquot-agent has no node to run on"
                               : "the agent is ready on " + std::to_string(ready) + " of " +
                                     std::to_string(wanted) + " nodes",
                   evidence,
                   "kubectl -n " + space +
                       " get pods -o wide -l app.kubernetes.io/component=agent; aliquot doctor "
                       "cluster");
}

}  // namespace

std::vector<node::GpuNode> look_at_cluster(Session& session) {
    session.image = session.options.image;
    auto nodes = gpu_nodes(session);
    if (!nodes.empty()) look_at_agent(session);
    return nodes;
}

}  // namespace aliquot::verify
