// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "base/json_value.h"
#include "document/write.h"
#include "sim/cluster/live_view.h"

namespace aliquot::sim::cluster {
namespace {

using Json = nlohmann::ordered_json;
using document::Value;

Json to_object(const GpuRow& gpu) {
    if (gpu.by_claims) {
        return {{"index", gpu.index},
                {"uuid", gpu.uuid},
                {"model", gpu.model},
                {"memoryBytes", gpu.memory_bytes},
                {"health", gpu.healthy ? "Healthy" : "Unhealthy"},
                {"claims", gpu.shares_used}};
    }
    return {{"index", gpu.index},
            {"uuid", gpu.uuid},
            {"model", gpu.model},
            {"memoryBytes", gpu.memory_bytes},
            {"health", gpu.healthy ? "Healthy" : "Unhealthy"},
            {"sharesTotal", gpu.shares_total},
            {"sharesUsed", gpu.shares_used}};
}

Json to_object(const PodRow& pod) {
    Json environment = Json::object();
    for (const auto& entry : pod.environment) environment[entry.first] = entry.second;
    return {{"name", pod.name},
            {"namespace", pod.pod_namespace},
            {"phase", std::string(to_text(pod.phase))},
            {"gpus", pod.gpus},
            {"devices", pod.devices},
            {"env", std::move(environment)},
            {"reason", pod.reason},
            {"log", pod.log}};
}

Json to_object(const Snapshot& snapshot) {
    Json gpus = Json::array();
    for (const GpuRow& gpu : snapshot.gpus) gpus.push_back(to_object(gpu));
    Json pods = Json::array();
    for (const PodRow& pod : snapshot.pods) pods.push_back(to_object(pod));
    return {{"gpus", std::move(gpus)}, {"pods", std::move(pods)}};
}

Value to_node(const Json& value) {
    if (value.is_object()) {
        Value node = document::make_mapping();
        for (const auto& entry : value.items()) append(node, entry.key(), to_node(entry.value()));
        return node;
    }
    if (value.is_array()) {
        Value node = document::make_sequence();
        for (const Json& item : value) node.items.push_back(to_node(item));
        return node;
    }
    if (value.is_string()) return document::make_string(value.get<std::string>());
    Value node;
    node.kind = Value::Kind::kInteger;
    node.scalar = value.dump();
    return node;
}

}  // namespace

std::string json_text(const Snapshot& snapshot) {
    // A log's path or a reason may hold any bytes; JSON must not.
    return dumped(to_object(snapshot), 2) + "\n";
}

std::string yaml_text(const Snapshot& snapshot) {
    return document::to_yaml(to_node(to_object(snapshot)));
}

}  // namespace aliquot::sim::cluster
