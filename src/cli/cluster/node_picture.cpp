// SPDX-License-Identifier: Apache-2.0
#include "cli/cluster/node_picture.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>

#include "base/json_value.h"
#include "base/sentence.h"
#include "cli/answer.h"
#include "node/names.h"

namespace aliquot::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string shares_text(const NodePicture& picture, const node::GpuNode& node, bool wide) {
    std::string text;
    for (const auto& [resource, count] : node.capacity) {
        const auto healthy = node.allocatable.find(resource);
        const std::uint64_t can = healthy == node.allocatable.end() ? 0 : healthy->second;
        if (count == 0 && can == 0) continue;
        const std::string used = picture.holders_problem.empty()
                                     ? std::to_string(held(picture, node.name(), resource))
                                     : "?";
        text += (text.empty() ? "" : ", ") + resource + " " + used + "/" + std::to_string(can);
        if (can < count) text += " (" + std::to_string(count - can) + " bad)";
        const std::string mechanism = wide ? mechanism_text(node, resource) : "";
        if (!mechanism.empty()) text += " " + mechanism;
    }
    for (const auto& [driver, count] : count_claims(node)) {
        text += (text.empty() ? "" : ", ") + driver + " " + std::to_string(count.held) + "/" +
                std::to_string(count.usable);
        if (count.shared) text += " by " + counted(count.claims.size(), "claim");
        if (count.bad > 0) text += " (" + std::to_string(count.bad) + " bad)";
    }
    return text;
}

Json to_json(const node::ClaimDevice& device) {
    Json claims = Json::array();
    for (const node::ClaimShare& share : device.held) {
        claims.push_back({{"claim", share.claim}, {"takes", share.takes}, {"pods", share.pods}});
    }
    return {{"driver", device.driver},   {"device", device.name}, {"type", device.kind},
            {"uuid", device.uuid},       {"model", device.model}, {"shared", device.shared},
            {"usable", device.usable()}, {"fits", device.fits},   {"claims", std::move(claims)}};
}

Json to_json(const node::Holder& holder) {
    Json claims = Json::array();
    for (const node::Holder::Claimed& one : holder.claimed) {
        claims.push_back({{"claim", one.claim},
                          {"driver", one.driver},
                          {"device", one.device},
                          {"takes", one.takes}});
    }
    return {{"pod", holder.pod}, {"devices", holder.devices}, {"claims", std::move(claims)}};
}

Json pods_json(const NodePicture& picture, const node::GpuNode& node) {
    Json pods = Json::array();
    const auto found = picture.holders.find(node.name());
    if (found == picture.holders.end()) return pods;
    for (const node::Holder& holder : found->second) pods.push_back(to_json(holder));
    return pods;
}

Json to_json(const NodePicture& picture, const node::GpuNode& node) {
    Json shares = Json::array();
    for (const auto& [resource, count] : node.capacity) {
        const auto healthy = node.allocatable.find(resource);
        Json share{{"resource", resource},
                   {"devices", count},
                   {"allocatable", healthy == node.allocatable.end() ? 0 : healthy->second}};
        share["held"] =
            picture.holders_problem.empty() ? Json(held(picture, node.name(), resource)) : Json();
        shares.push_back(std::move(share));
    }
    Json claim_devices = Json::array();
    for (const auto& device : node.claim_devices) claim_devices.push_back(to_json(device));
    Json taints = Json::array();
    for (const auto& taint : node.object.taints) taints.push_back(k8s::to_text(taint));
    Json conditions = Json::array();
    for (const char* const type : node::kConditions) {
        const auto* const told = node.object.find(type);
        if (told == nullptr) continue;
        conditions.push_back({{"type", type},
                              {"good", told->is_true()},
                              {"reason", told->reason},
                              {"message", told->message},
                              {"since", told->transition}});
    }
    const auto label = [&](const char* key) {
        const auto value = node.object.label(key);
        return value ? Json(*value) : Json();
    };
    Json config{{"label", label(node::kConfigLabel)}};
    if (node.config) {
        config["source"] = node::to_text(node.config->source);
        config["key"] = node.config->key;
        config["state"] = node::state_text(*node.config);
        config["problem"] = node.config->problem;
        Json waiting = Json::array();
        for (const sharing::WaitingDevice& one : node.config->waiting) {
            waiting.push_back({{"device", one.index},
                               {"uuid", one.uuid.text},
                               {"served", one.served},
                               {"pods", one.pods},
                               {"why", one.why}});
        }
        config["waiting"] = std::move(waiting);
    }
    return {{"name", node.name()},
            {"ready", node.object.is_ready()},
            {"cordoned", node.object.is_cordoned},
            {"kubelet", node.object.kubelet_version},
            {"agent", node.agent},
            {"healthy", node.is_well()},
            {"models", node.models()},
            {"gpus", parse_json<Json>(node::to_json(node.gpus))},
            {"shares", std::move(shares)},
            {"offer", parse_json<Json>(node::to_json(node.shares))},
            {"claimDevices", picture.claims_problem.empty() ? std::move(claim_devices) : Json()},
            {"pods", pods_json(picture, node)},
            {"config", std::move(config)},
            {"mig",
             {{"config", label(node::kMigConfigLabel)},
              {"state", label(node::kMigStateLabel)},
              {"problem", node.mig_problem}}},
            {"conditions", std::move(conditions)},
            {"taints", std::move(taints)},
            {"labels", node.object.labels}};
}

}  // namespace

void tell_problems(Context& context, const NodePicture& picture) {
    if (!picture.holders_problem.empty()) {
        context.err << "aliquot: what pods hold is not known: " << picture.holders_problem << '\n';
    }
    if (!picture.claims_problem.empty()) {
        context.err << "aliquot: what claims hold is not known: " << picture.claims_problem << '\n';
    }
}

std::uint64_t held(const NodePicture& picture, const std::string& node,
                   const std::string& resource) {
    std::uint64_t sum = 0;
    const auto found = picture.holders.find(node);
    if (found == picture.holders.end()) return 0;
    for (const node::Holder& holder : found->second) {
        const auto count = holder.devices.find(resource);
        if (count != holder.devices.end()) sum += count->second;
    }
    return sum;
}

std::map<std::string, ClaimCount> count_claims(const node::GpuNode& node) {
    std::map<std::string, ClaimCount> counts;
    for (const node::ClaimDevice& device : node.claim_devices) {
        ClaimCount& count = counts[device.driver];
        if (!device.is_there()) continue;
        if (device.usable() && device.fits) ++count.usable;
        if (device.published && device.tainted) ++count.bad;
        if (!device.held.empty()) ++count.held;
        for (const node::ClaimShare& share : device.held) count.claims.insert(share.claim);
        count.shared = count.shared || device.shared;
    }
    return counts;
}

std::string claimed_text(const node::Holder::Claimed& claimed) {
    return (claimed.takes.empty() ? "" : claimed.takes + " of ") + claimed.device + " by claim " +
           claimed.claim.substr(claimed.claim.find('/') + 1);
}

std::string mechanism_text(const node::GpuNode& node, const std::string& resource) {
    std::string text;
    for (const node::ShareStatus& share : node.shares) {
        if (share.resource != resource) continue;
        const std::string one =
            std::string(share.mechanism == grant::Mechanism::kNone
                            ? "whole"
                            : grant::node_text(share.mechanism)) +
            (share.memory_mib > 0 ? " " + std::to_string(share.memory_mib) + "MiB" : "");
        if (!text.contains(one)) text += (text.empty() ? "" : "+") + one;
    }
    return text;
}

std::string config_text(const node::GpuNode& node) {
    if (!node.config) {
        return node.object.label(node::kConfigLabel).value_or("");
    }
    const std::string key = node.config->key.empty() ? "whole GPUs" : node.config->key;
    const std::string_view state = node::state_text(*node.config);
    return state == "served" ? key : key + " (" + std::string(state) + ")";
}

std::string mig_text(const node::GpuNode& node) {
    const auto wanted = node.object.label(node::kMigConfigLabel);
    const auto state = node.object.label(node::kMigStateLabel);
    const bool cut = std::ranges::any_of(node.gpus, &node::GpuStatus::mig);
    if (wanted) return *wanted + (state ? " (" + *state + ")" : "");
    return cut ? "on" : "";
}

std::string health_text(const node::GpuNode& node) {
    if (node.gpus.empty()) return node.agent.empty() ? "" : "no GPU";
    const unsigned bad = node.unhealthy_gpus();
    if (bad > 0) return std::to_string(bad) + " of " + std::to_string(node.gpus.size()) + " bad";
    const auto* const told = node.object.find(node::kGpuHealthy);
    return told != nullptr && !told->is_true() ? told->reason : "healthy";
}

std::string taints_text(const node::GpuNode& node) {
    std::string text = listed(
        node.object.taints, [](const auto& taint) { return k8s::to_text(taint); }, ",");
    return text;
}

std::string status_text(const node::GpuNode& node) {
    return std::string(node.object.is_ready() ? "Ready" : "NotReady") +
           (node.object.is_cordoned ? ",cordoned" : "");
}

Row node_heading(bool wide) {
    Row row{"NODE", "STATUS", "GPUS", "SHARES", "CONFIG", "MIG", "HEALTH", "AGENT"};
    if (wide) row.insert(row.end(), {"KUBELET", "TAINTS"});
    return row;
}

Row node_row(const NodePicture& picture, const node::GpuNode& node, bool wide) {
    Row row{
        node.name(),       status_text(node), node.models(),     shares_text(picture, node, wide),
        config_text(node), mig_text(node),    health_text(node), node.agent};
    if (wide) row.insert(row.end(), {node.object.kubelet_version, taints_text(node)});
    return row;
}

void print_node(Context& context, const std::string& format, const NodePicture& picture,
                const node::GpuNode& node) {
    print_answer(context.out, "GpuNode", to_json(picture, node), format);
}

void print_nodes(Context& context, const std::string& format, const NodePicture& picture) {
    Json nodes = Json::array();
    for (const auto& node : picture.nodes.nodes) nodes.push_back(to_json(picture, node));
    print_answer(context.out, "GpuNodeList", Json{{"nodes", std::move(nodes)}}, format);
}

}  // namespace aliquot::cli
