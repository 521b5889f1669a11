// SPDX-License-Identifier: Apache-2.0
#include "guard_region/status_json.h"

#include <nlohmann/json.hpp>

#include "base/units.h"

namespace aliquot::guard_region {
namespace {

using Json = nlohmann::ordered_json;

Json seconds(std::uint64_t ns) { return static_cast<double>(ns) / kNsPerSecond; }

template <class Number>
Json number_or_null(Number number) {
    return number == 0 ? Json(nullptr) : Json(number);
}

Json device_json(const DeviceStatus& device) {
    Json remarks = Json::array();
    for (const std::string_view remark : device.remarks) remarks.push_back(remark);
    return {{"uuid", device.uuid},
            {"memoryLimitBytes", number_or_null(device.limits.memory_bytes)},
            {"usedBytes", device.used_bytes},
            {"trackedBytes", device.tracked_bytes},
            {"overheadBytes", device.overhead_bytes},
            {"peakBytes", device.peak_bytes},
            {"driverBytes", device.driver_bytes ? Json(*device.driver_bytes) : Json(nullptr)},
            {"denied", device.denied},
            {"deniedBytes", device.denied_bytes},
            {"capPercent", device.limits.cap_ppm == 0
                               ? Json(nullptr)
                               : Json(static_cast<double>(device.limits.cap_ppm) / kPpmPerPercent)},
            {"weight", number_or_null(device.limits.weight)},
            {"gpuSeconds", seconds(device.gpu_ns)},
            {"throttledSeconds", seconds(device.throttled_ns)},
            {"overruns", device.overruns},
            {"processes", device.processes},
            {"unguardedProcesses", device.unguarded},
            {"kernelLimit", device.limits.kernel_limit},
            {"remarks", std::move(remarks)}};
}

}  // namespace

Json to_json(const RegionStatus& region) {
    Json devices = Json::array();
    for (const DeviceStatus& device : region.devices) devices.push_back(device_json(device));
    return {{"namespace", region.pod_namespace},
            {"pod", region.pod},
            {"container", region.container},
            {"region", region.id},
            {"resource", region.resource},
            {"deviceIds", region.device_ids},
            {"fail", region.fail_open ? "open" : "closed"},
            {"problem", region.problem},
            {"devices", std::move(devices)}};
}

}  // namespace aliquot::guard_region
