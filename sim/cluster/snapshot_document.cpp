// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "sim/cluster/live_view.h"

namespace aliquot::sim::cluster {
namespace {

using Json = nlohmann::ordered_json;

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

}  // namespace

Json to_json(const Snapshot& snapshot) {
    Json gpus = Json::array();
    for (const GpuRow& gpu : snapshot.gpus) gpus.push_back(to_object(gpu));
    Json pods = Json::array();
    for (const PodRow& pod : snapshot.pods) pods.push_back(to_object(pod));
    return {{"gpus", std::move(gpus)}, {"pods", std::move(pods)}};
}

}  // namespace aliquot::sim::cluster
