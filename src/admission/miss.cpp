// SPDX-License-Identifier: Apache-2.0
#include "admission/miss.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "k8s/memory_amount.h"

namespace aliquot::admission {
namespace {

constexpr unsigned kBitsOfMib = 20;

std::string memory_text(std::uint64_t mib) { return k8s::bytes_text(mib << kBitsOfMib); }

std::string joined(const std::vector<std::string>& parts, const char* last) {
    std::string text;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const char* const glue = i + 1 == parts.size() ? last : ", ";
        text += (i == 0 ? "" : glue) + parts[i];
    }
    return text;
}

/// "20Gi and 25 % of a GPU of type a100".
std::string asked(const Demand& demand) {
    const GpuRequest& request = *demand.request;
    std::vector<std::string> parts;
    if (request.memory_mib) parts.push_back(memory_text(*request.memory_mib));
    if (request.compute_percent) parts.push_back(std::to_string(*request.compute_percent) + " %");
    std::string text = joined(parts, " and ");
    if (!text.empty()) text += " of ";
    text += demand.count > 1 ? "each of " + std::to_string(demand.count) + " GPUs" : "a GPU";
    if (parts.empty() && demand.count > 1) text = std::to_string(demand.count) + " GPUs";
    std::vector<std::string> types;
    for (const GpuType& type : request.types) types.push_back(type.word);
    if (!types.empty()) text += " of type " + joined(types, " or ");
    if (demand.is_named) text += " by " + demand.resource;
    return text;
}

std::string offered(const Share& share, const GpuNode& node) {
    std::string text = share.resource + " of node " + node.name + ": " +
                       std::to_string(share.devices) + (share.devices == 1 ? " unit" : " units");
    if (share.memory_mib > 0) text += " with " + memory_text(share.memory_mib);
    if (share.compute_percent > 0) text += ", " + std::to_string(share.compute_percent) + " %";
    return text;
}

/// The larger the nearer.
std::tuple<unsigned, unsigned, unsigned> nearness(const Demand& demand, const Share& share) {
    const GpuRequest& request = *demand.request;
    unsigned kept = 0;
    if (demand.resource.empty() || demand.resource == share.resource) ++kept;
    if (!demand.only_whole || share.is_whole()) ++kept;
    if (share.devices >= demand.count) ++kept;
    if (share.memory_mib >= request.memory_mib.value_or(0)) ++kept;
    if (share.compute_percent >= request.compute_percent.value_or(0)) ++kept;
    return {kept, share.memory_mib, share.devices};
}

std::string nearest(const Demand& demand, const Nodes& nodes) {
    const Share* best = nullptr;
    const GpuNode* best_node = nullptr;
    for (const GpuNode* const node : nodes) {
        if (!demand.allows(*node)) continue;
        for (const Share& share : node->shares) {
            if (best != nullptr && nearness(demand, share) <= nearness(demand, *best)) continue;
            best = &share;
            best_node = node;
        }
    }
    return best == nullptr ? "" : offered(*best, *best_node);
}

std::string types_there(const Nodes& nodes) {
    constexpr std::size_t kMostNamed = 8;
    std::set<std::string> names;
    for (const GpuNode* const node : nodes) {
        if (names.size() >= kMostNamed) break;
        if (node->model != nullptr) names.insert(std::string(node->model->key));
        if (node->model == nullptr && !node->product.empty()) names.insert(node->product);
    }
    return joined({names.begin(), names.end()}, ", ");
}

bool has_fit(const Demand& demand, const Nodes& nodes) {
    return std::ranges::any_of(nodes, [&](const GpuNode* node) {
        return demand.allows(*node) && std::ranges::any_of(node->shares, [&](const Share& share) {
                   return demand.fits(share);
               });
    });
}

}  // namespace

bool Demand::allows(const GpuNode& node) const {
    return request->types.empty() || std::ranges::any_of(request->types, [&](const GpuType& type) {
               return type.fits(node);
           });
}

bool Demand::fits(const Share& share) const {
    if (!resource.empty() && share.resource != resource) return false;
    if (only_whole && !share.is_whole()) return false;
    if (share.devices < count) return false;
    if (share.memory_mib < request->memory_mib.value_or(0)) return false;
    return share.compute_percent >= request->compute_percent.value_or(0);
}

std::string describe_miss(const PodFacts& pod, const std::vector<Demand>& demands,
                          const Nodes& candidates, const Cluster& cluster) {
    if (cluster.empty()) return "no node offers GPUs";
    if (candidates.empty()) {
        return "none of the nodes with GPUs is where the pod's nodeName, nodeSelector or node "
               "affinity lets it run";
    }
    for (const Demand& demand : demands) {
        if (has_fit(demand, candidates)) continue;
        const std::string subject = "container '" + pod.containers[demand.request->container].name +
                                    "' asks for " + asked(demand) + ": ";
        const std::string near = nearest(demand, candidates);
        if (near.empty()) return subject + "no node has one; there are " + types_there(candidates);
        return subject + "no node offers that; the nearest is " + near;
    }
    return "no node has what all " + std::to_string(demands.size()) + " containers ask for at once";
}

}  // namespace aliquot::admission
