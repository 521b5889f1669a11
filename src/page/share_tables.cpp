// SPDX-License-Identifier: Apache-2.0
#include "page/share_tables.h"

#include <algorithm>
#include <set>

#include "page/history.h"
#include "top/history.h"
#include "top/sums.h"

namespace aliquot::page {
namespace {

using telemetry::Device;
using telemetry::Part;
using telemetry::Snapshot;
using telemetry::Tenant;

constexpr std::uint64_t kNsPerMinute = 60'000'000'000;

std::string part_text(const Part& part) {
    return part.gpu_instance ? std::to_string(*part.gpu_instance) : std::string();
}

std::optional<std::uint64_t> memory_of(const Device& device, const Part& part) {
    if (!part.gpu_instance) return top::memory_total_of(device);
    return part.metrics.whole(gpu::Metric::kMemoryTotalBytes);
}

/// How much of the memory is the tenant's own: its limit, else what its share comes to, else what it uses.
std::optional<std::uint64_t> held(const Device& device, const Part& part, const Tenant& tenant) {
    if (tenant.memory_limit_bytes) return tenant.memory_limit_bytes;
    const auto whole = memory_of(device, part);
    if (tenant.entitlement_ppm > 0 && whole) {
        return telemetry::scaled(*whole, tenant.entitlement_ppm, telemetry::kMillion);
    }
    return tenant.amounts.memory_bytes;
}

Row share_row(const Snapshot& node, const Device& device, const Part& part, const Tenant& tenant) {
    const std::string gpu = gpu_row_key(node.node, device.gpu.index);
    return RowWriter(gpu + "/" + part_text(part) + "/" + tenant.owner.pod_namespace + "/" +
                     top::pod_name(tenant) + "/" + tenant.owner.container + "/" + tenant.resource)
        .text(gpu)
        .text(part_text(part))
        .text(tenant.owner.pod_namespace)
        .text(top::pod_name(tenant))
        .text(tenant.owner.container)
        .text(tenant.resource)
        .number(mebibytes(held(device, part, tenant)))
        .number(mebibytes(tenant.amounts.memory_bytes))
        .number(mebibytes(tenant.memory_limit_bytes))
        .number(percent(tenant.amounts.utilization_ppm))
        .number(percent(tenant.share_utilization_ppm))
        .number(percent(top::entitlement_of_gpu(device, part, tenant)))
        .text(telemetry::to_text(tenant.source))
        .number(tenant.idle_ns ? std::optional(*tenant.idle_ns / kNsPerMinute) : std::nullopt)
        .number(tenant.denied)
        .done();
}

Row part_row(const Snapshot& node, const Device& device, const Part& part) {
    const std::string gpu = gpu_row_key(node.node, device.gpu.index);
    const auto placed = std::find_if(
        device.gpu.mig_devices.begin(), device.gpu.mig_devices.end(),
        [&](const gpu::MigDevice& one) { return one.gpu_instance == part.gpu_instance; });
    const bool known = placed != device.gpu.mig_devices.end();
    return RowWriter(gpu + "/" + part_text(part))
        .text(gpu)
        .text(part_text(part))
        .text(part.profile)
        .number(known ? std::optional<std::uint64_t>(placed->placement.start) : std::nullopt)
        .number(known ? std::optional<std::uint64_t>(placed->placement.size) : std::nullopt)
        .number(mebibytes(memory_of(device, part)))
        .number(mebibytes(part.total.memory_bytes))
        .number(percent(part.total.utilization_ppm))
        .done();
}

}  // namespace

std::vector<Table> share_tables(const top::ClusterSnapshot& cluster,
                                const std::vector<std::string>& nodes) {
    Table shares{.name = "shares",
                 .columns = {"share", "gpu", "part", "namespace", "pod", "container", "resource",
                             "memoryHeld", "memoryUsed", "memoryLimit", "busy", "ofShare",
                             "entitled", "source", "idleMinutes", "denied"},
                 .rows = {}};
    Table parts{.name = "parts",
                .columns = {"id", "gpu", "part", "profile", "start", "size", "memoryTotal",
                            "memoryUsed", "busy"},
                .rows = {}};
    Table details{.name = "details", .columns = {"gpu", "uuid", "celsius", "watts"}, .rows = {}};
    const std::set<std::string> wanted(nodes.begin(), nodes.end());
    for (const top::Agent& agent : cluster.agents) {
        if (!agent.snapshot || !wanted.contains(agent.snapshot->node)) continue;
        const Snapshot& node = *agent.snapshot;
        for (const Device& device : node.devices) {
            details.rows.push_back(
                RowWriter(gpu_row_key(node.node, device.gpu.index))
                    .text(device.gpu.uuid.text)
                    .number(device.metrics.whole(gpu::Metric::kTemperatureCelsius))
                    .number(watts(device.total.power_milliwatts))
                    .done());
            for (const Part& part : device.parts) {
                if (part.gpu_instance) parts.rows.push_back(part_row(node, device, part));
                for (const Tenant& tenant : part.tenants) {
                    if (!tenant.ended) shares.rows.push_back(share_row(node, device, part, tenant));
                }
            }
        }
    }
    std::vector<Table> all;
    for (Table* const table : {&shares, &parts, &details}) all.push_back(std::move(*table));
    return all;
}

}  // namespace aliquot::page
