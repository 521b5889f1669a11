// SPDX-License-Identifier: Apache-2.0
#include "top/sums.h"

#include <algorithm>
#include <set>

#include "top/text.h"

namespace aliquot::top {
namespace {

using gpu::Metric;

void add_to(std::optional<std::uint64_t>& sum, std::optional<std::uint64_t> value) {
    if (value) sum = sum.value_or(0) + *value;
}

/// The part of the GPU's memory that a part has, parts per million.
std::uint64_t size_of(const telemetry::Device& device, const telemetry::Part& part) {
    if (!part.gpu_instance) return telemetry::kMillion;
    const auto whole = memory_total_of(device);
    const auto own = part.metrics.get(Metric::kMemoryTotalBytes);
    if (!whole || *whole == 0 || !own) return 0;
    const double size = *own / static_cast<double>(*whole);
    return std::min(whole_number(size * telemetry::kMillion), telemetry::kMillion);
}

}  // namespace

void Sums::add(const Sums& other) {
    gpus += other.gpus;
    silent_gpus += other.silent_gpus;
    unhealthy_gpus += other.unhealthy_gpus;
    busy_ppm += other.busy_ppm;
    busy_gpus += other.busy_gpus;
    add_to(memory_used_bytes, other.memory_used_bytes);
    add_to(memory_total_bytes, other.memory_total_bytes);
    add_to(power_milliwatts, other.power_milliwatts);
    slots += other.slots;
    allocated += other.allocated;
    pods += other.pods;
    idle_pods += other.idle_pods;
    if (other.price_per_hour) price_per_hour = price_per_hour.value_or(0) + *other.price_per_hour;
}

Sums sums_of(const telemetry::Snapshot& node) {
    Sums sums;
    std::set<std::pair<std::string, std::string>> pods;
    std::set<std::pair<std::string, std::string>> busy_pods;
    for (const telemetry::Device& device : node.devices) {
        ++sums.gpus;
        if (!device.problem.empty()) ++sums.silent_gpus;
        if (!device.gpu.health.ok()) ++sums.unhealthy_gpus;
        if (const auto busy = busy_of(device)) {
            sums.busy_ppm += *busy;
            ++sums.busy_gpus;
        }
        add_to(sums.memory_used_bytes, device.total.memory_bytes);
        add_to(sums.memory_total_bytes, memory_total_of(device));
        add_to(sums.power_milliwatts, device.total.power_milliwatts);
        for (const auto& [resource, count] : device.layout.slots) sums.slots += count;
        for (const auto& [resource, count] : device.layout.allocated) sums.allocated += count;
        for (const telemetry::Part& part : device.parts) {
            for (const telemetry::Tenant& tenant : part.tenants) {
                if (tenant.ended) continue;
                const std::pair pod{tenant.owner.pod_namespace + "/" + tenant.owner.pod,
                                    tenant.owner.pod_uid};
                pods.insert(pod);
                if (!is_idle(tenant)) busy_pods.insert(pod);
            }
        }
    }
    sums.pods = static_cast<unsigned>(pods.size());
    sums.idle_pods = static_cast<unsigned>(pods.size() - busy_pods.size());
    if (node.price_per_gpu_hour) sums.price_per_hour = *node.price_per_gpu_hour * sums.gpus;
    return sums;
}

Sums sums_of(const ClusterSnapshot& cluster) {
    Sums sums;
    for (const Agent& agent : cluster.agents) {
        if (agent.snapshot) sums.add(sums_of(*agent.snapshot));
    }
    return sums;
}

std::optional<std::uint64_t> busy_of(const telemetry::Device& device) {
    if (device.total.utilization_ppm) return device.total.utilization_ppm;
    std::optional<std::uint64_t> sum;
    for (const telemetry::Part& part : device.parts) {
        if (!part.gpu_instance || !part.total.utilization_ppm) continue;
        add_to(sum, *part.total.utilization_ppm * size_of(device, part) / telemetry::kMillion);
    }
    return sum;
}

std::optional<std::uint64_t> memory_total_of(const telemetry::Device& device) {
    if (const auto bytes = device.metrics.get(Metric::kMemoryTotalBytes))
        return whole_number(*bytes);
    if (device.gpu.memory_bytes > 0) return device.gpu.memory_bytes;
    return std::nullopt;
}

bool is_idle(const telemetry::Tenant& tenant) {
    return !tenant.resource.empty() && tenant.idle_ns && *tenant.idle_ns >= kIdleAfterNs;
}

std::uint64_t entitlement_of_gpu(const telemetry::Device& device, const telemetry::Part& part,
                                 const telemetry::Tenant& tenant) {
    return tenant.entitlement_ppm * size_of(device, part) / telemetry::kMillion;
}

std::string pod_name(const telemetry::Tenant& tenant) {
    if (!tenant.owner.pod.empty()) return tenant.owner.pod;
    if (!tenant.owner.pod_uid.empty()) return "uid " + tenant.owner.pod_uid;
    return tenant.owner.container.empty() ? "?" : tenant.owner.container;
}

}  // namespace aliquot::top
