// SPDX-License-Identifier: Apache-2.0
#include "telemetry/json.h"

#include <nlohmann/json.hpp>

#include "base/json_value.h"
#include "gpu/json.h"
#include "telemetry/metric_names.h"

namespace aliquot::telemetry {
namespace {

using Json = nlohmann::ordered_json;

template <class T>
void put(Json& json, const char* name, const std::optional<T>& value) {
    if (value) json[name] = *value;
}

void put(Json& json, const char* name, const std::string& value) {
    if (!value.empty()) json[name] = value;
}

Json json_of(const gpu::MetricValues& metrics) {
    Json json = Json::object();
    for (std::size_t i = 0; i < gpu::kMetricCount; ++i) {
        const auto metric = static_cast<gpu::Metric>(i);
        const auto value = metrics.get(metric);
        if (!value) continue;
        const auto whole = static_cast<std::int64_t>(*value);
        const std::string name(name_of(metric));
        if (static_cast<double>(whole) == *value) {
            json[name] = whole;
        } else {
            json[name] = *value;
        }
    }
    return json;
}

Json json_of(const Amounts& amounts) {
    Json json = Json::object();
    put(json, "memoryBytes", amounts.memory_bytes);
    put(json, "utilizationPpm", amounts.utilization_ppm);
    put(json, "busyNs", amounts.busy_ns);
    put(json, "powerMilliwatts", amounts.power_milliwatts);
    put(json, "energyMillijoules", amounts.energy_millijoules);
    return json;
}

Json json_of(const std::vector<Process>& processes) {
    Json list = Json::array();
    for (const Process& process : processes) {
        Json json{{"pid", process.pid}};
        put(json, "command", process.command);
        put(json, "memoryBytes", process.memory_bytes);
        put(json, "utilizationPpm", process.utilization_ppm);
        put(json, "cpuNs", process.cpu_ns);
        if (process.graphics) json["graphics"] = true;
        if (process.mps_client) json["mpsClient"] = true;
        list.push_back(std::move(json));
    }
    return list;
}

Json json_of(const Tenant& tenant) {
    Json json = Json::object();
    put(json, "namespace", tenant.owner.pod_namespace);
    put(json, "pod", tenant.owner.pod);
    put(json, "container", tenant.owner.container);
    put(json, "podUid", tenant.owner.pod_uid);
    put(json, "containerId", tenant.owner.container_id);
    put(json, "resource", tenant.resource);
    json["ids"] = tenant.ids;
    json["source"] = to_text(tenant.source);
    json["entitlementPpm"] = tenant.entitlement_ppm;
    json["amounts"] = json_of(tenant.amounts);
    put(json, "shareUtilizationPpm", tenant.share_utilization_ppm);
    put(json, "memoryLimitBytes", tenant.memory_limit_bytes);
    put(json, "memoryPeakBytes", tenant.memory_peak_bytes);
    put(json, "denied", tenant.denied);
    put(json, "throttledNs", tenant.throttled_ns);
    json["heldNs"] = tenant.held_ns;
    put(json, "idleHeldNs", tenant.idle_held_ns);
    put(json, "idleNs", tenant.idle_ns);
    if (tenant.ended) json["ended"] = true;
    json["processes"] = json_of(tenant.processes);
    return json;
}

Json json_of(const Part& part) {
    Json json = Json::object();
    put(json, "gpuInstance", part.gpu_instance);
    put(json, "profile", part.profile);
    for (const gpu::Uuid& uuid : part.mig_devices) json["migDevices"].push_back(uuid.text);
    if (part.gpu_instance) json["figures"] = json_of(part.metrics);
    json["total"] = json_of(part.total);
    json["remainder"] = json_of(part.remainder);
    json["endedBusyNs"] = part.ended_busy_ns;
    json["endedEnergyMillijoules"] = part.ended_energy_millijoules;
    json["tenants"] = Json::array();
    for (const Tenant& tenant : part.tenants) json["tenants"].push_back(json_of(tenant));
    json["otherProcesses"] = json_of(part.others);
    return json;
}

std::int64_t unix_ms(Moment moment) {
    return std::chrono::duration_cast<std::chrono::milliseconds>(moment.time_since_epoch()).count();
}

Json json_of(const Device& device) {
    Json json = gpu::to_json(device.gpu, device.last_xids);
    json["layout"] = {{"mechanism", grant::metric_text(device.layout.mechanism)},
                      {"replicas", device.layout.replicas},
                      {"slots", device.layout.slots},
                      {"allocated", device.layout.allocated}};
    if (device.read_at) json["readAtMs"] = unix_ms(*device.read_at);
    put(json, "problem", device.problem);
    json["figures"] = json_of(device.metrics);
    json["total"] = json_of(device.total);
    json["remainder"] = json_of(device.remainder);
    if (device.memory_busy_known) json["memoryBusyNs"] = device.memory_busy_ns;
    json["throttledNs"] = device.throttled_ns;
    json["xidCounts"] = Json::array();
    for (const XidCount& one : device.xids) {
        json["xidCounts"].push_back(
            {{"xid", one.xid}, {"count", one.count}, {"lastMs", unix_ms(one.last)}});
    }
    json["parts"] = Json::array();
    for (const Part& part : device.parts) json["parts"].push_back(json_of(part));
    return json;
}

Json json_of(const SamplingStatus& sampling) {
    Json json{{"degraded", Json::array()},
              {"mpsServerOnly", sampling.mps_server_only},
              {"migUseUnknown", sampling.mig_use_unknown},
              {"looks", sampling.looks},
              {"failedLooks", sampling.failed_looks},
              {"lookNs", sampling.look_ns}};
    for (const pods::Degraded one : sampling.degraded) json["degraded"].push_back(to_text(one));
    if (sampling.last_good) json["lastGoodMs"] = unix_ms(*sampling.last_good);
    json["failedCalls"] = Json::array();
    for (const auto& [call, count] : sampling.failed_calls) {
        json["failedCalls"].push_back(
            {{"call", call.first}, {"code", call.second}, {"count", count}});
    }
    return json;
}

}  // namespace

std::string to_json(const Snapshot& snapshot) {
    Json json{{"apiVersion", "aliquot.dev/v1"},
              {"kind", "NodeState"},
              {"node", snapshot.node},
              {"atMs", unix_ms(snapshot.at)},
              {"sequence", snapshot.sequence},
              {"driverVersion", snapshot.driver_version},
              {"cudaVersion", snapshot.cuda_version}};
    put(json, "driverProblem", snapshot.driver_problem);
    put(json, "pricePerGpuHour", snapshot.price_per_gpu_hour);
    json["sight"] = json_of(snapshot.sampling);
    json["gpus"] = Json::array();
    for (const Device& device : snapshot.devices) json["gpus"].push_back(json_of(device));
    // Names of processes need not be UTF-8.
    return dumped(json);
}

}  // namespace aliquot::telemetry
