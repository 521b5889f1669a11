// SPDX-License-Identifier: Apache-2.0
#include "gpu/json.h"

#include <array>
#include <ctime>
#include <nlohmann/json.hpp>

#include "base/time_text.h"

namespace aliquot::gpu {
namespace {

using Json = nlohmann::ordered_json;

void add_health(const Health& health, Json& json) {
    json["health"] = to_text(health.state);
    json["reason"] = health.reason;
    const std::string since = to_text(health.since);
    json["since"] = since.empty() ? Json(nullptr) : Json(since);
    json["advice"] = health.advice;
}

Json device_json(const MigDevice& device) {
    Json json = {{"index", device.index},
                 {"uuid", device.uuid.text},
                 {"profile", device.profile},
                 {"gpuInstance", device.gpu_instance},
                 {"computeInstance", device.compute_instance},
                 {"start", device.placement.start},
                 {"size", device.placement.size},
                 {"memoryBytes", device.memory_bytes}};
    add_health(device.health, json);
    return json;
}

Json xid_json(const SeenXid& seen) {
    Json json = {{"xid", seen.xid}, {"text", xid_text(seen.xid)}, {"at", to_text(seen.at)}};
    if (seen.gpu_instance) json["gpuInstance"] = *seen.gpu_instance;
    if (seen.compute_instance) json["computeInstance"] = *seen.compute_instance;
    return json;
}

}  // namespace

std::string to_text(Moment moment) {
    if (moment == Moment{}) return {};
    return rfc3339(moment);
}

std::string_view to_text(Virtualization virtualization) {
    switch (virtualization) {
        case Virtualization::kNone:
            return "none";
        case Virtualization::kPassthrough:
            return "passthrough";
        case Virtualization::kVgpuGuest:
            return "vgpu-guest";
        case Virtualization::kVgpuHost:
            return "vgpu-host";
        case Virtualization::kVsgaHost:
            return "vsga-host";
    }
    return "";
}

Json to_json(const Gpu& gpu, std::span<const SeenXid> xids) {
    std::string mig = "unsupported";
    if (gpu.mig_capable) mig = gpu.mig_enabled ? "on" : "off";
    if (gpu.mig_pending) mig += gpu.mig_enabled ? ", off after a reset" : ", on after a reset";
    Json json = {{"index", gpu.index},
                 {"uuid", gpu.uuid.text},
                 {"model", gpu.model},
                 {"memoryBytes", gpu.memory_bytes},
                 {"pci", to_text(gpu.pci)},
                 {"minor", gpu.minor},
                 {"computeCapability",
                  std::to_string(gpu.compute_major) + "." + std::to_string(gpu.compute_minor)},
                 {"numaNode", gpu.numa_node ? Json(*gpu.numa_node) : Json(nullptr)},
                 {"virtualization", to_text(gpu.virtualization)},
                 {"mig", mig}};
    add_health(gpu.health, json);
    json["migDevices"] = Json::array();
    for (const MigDevice& device : gpu.mig_devices) {
        json["migDevices"].push_back(device_json(device));
    }
    json["xids"] = Json::array();
    for (const SeenXid& seen : xids) json["xids"].push_back(xid_json(seen));
    return json;
}

}  // namespace aliquot::gpu
