// SPDX-License-Identifier: Apache-2.0
#include "scheduling/served_node.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/json_value.h"
#include "grant/mechanism.h"
#include "node/names.h"
#include "node/offer_text.h"

namespace aliquot::scheduling {
namespace {

using Json = nlohmann::ordered_json;

constexpr unsigned kMostUnits = 4096;  // of one GPU: nobody cuts one into more
constexpr double kMilli = 1000;
constexpr double kMib = 1024.0 * 1024.0;

std::int32_t bounded(double amount) {
    constexpr double kMost = 2'000'000'000;
    return static_cast<std::int32_t>(std::clamp(amount, 0.0, kMost));
}

double amount_of(const k8s::Amounts& amounts, const char* resource) {
    const auto found = amounts.find(resource);
    return found == amounts.end() ? 0 : found->second;
}

std::string annotation(const k8s::Node& node, const char* key) {
    const auto found = node.annotations.find(key);
    return found == node.annotations.end() ? std::string() : found->second;
}

}  // namespace

std::optional<ServedNode> read_served_node(const k8s::Node& node) {
    const auto gpus = node::parse_gpu_statuses(annotation(node, node::kGpus));
    if (!gpus) return std::nullopt;
    ServedNode served{.name = node.name,
                      .labels = node.labels,
                      .taints = {node.taints.begin(), node.taints.end()},
                      .is_open = node.is_ready() && !node.is_cordoned,
                      .cpu_milli = bounded(amount_of(node.allocatable, "cpu") * kMilli),
                      .memory_mib = bounded(amount_of(node.allocatable, "memory") / kMib)};
    for (const node::GpuStatus& gpu : *gpus) {
        ServedGpu one{.uuid = gpu.uuid};
        for (const auto& [resource, units] : gpu.offers) {
            if (units > 0) one.units.emplace(resource, std::min(units, kMostUnits));
        }
        if (!gpu.healthy || one.uuid.empty() || one.units.empty()) continue;
        served.gpus.push_back(std::move(one));
    }
    if (served.gpus.empty()) return std::nullopt;
    const auto shares = node::parse_share_statuses(annotation(node, node::kShares));
    if (shares) {
        for (const node::ShareStatus& share : *shares) {
            if (share.mechanism == grant::Mechanism::kMps) served.on_one_gpu.insert(share.resource);
        }
    }
    served.granted = parse_granted(annotation(node, node::kGranted));
    return served;
}

k8s::Labels topology_of(const k8s::Labels& labels) {
    k8s::Labels kept;
    for (const auto& label : labels) {
        if (label.first == "kubernetes.io/hostname" || label.first.starts_with("topology."))
            kept.insert(label);
    }
    return kept;
}

Granted parse_granted(std::string_view json) {
    const Json root = parse_json<Json>(json);
    Granted granted;
    if (!root.is_object()) return granted;
    for (const auto& [pod, resources] : root.items()) {
        if (!resources.is_object()) continue;
        for (const auto& [resource, gpus] : resources.items()) {
            if (!gpus.is_object()) continue;
            for (const auto& gpu : gpus.items()) {
                const auto units = number_at<unsigned>(gpus, gpu.key().c_str());
                if (units > 0) granted[pod][resource][gpu.key()] = std::min(units, kMostUnits);
            }
        }
    }
    return granted;
}

std::string to_json(const Granted& granted) {
    Json root = Json::object();
    for (const auto& [pod, resources] : granted) {
        for (const auto& [resource, gpus] : resources) {
            for (const auto& [gpu, units] : gpus) root[pod][resource][gpu] = units;
        }
    }
    return dumped(root);
}

}  // namespace aliquot::scheduling
