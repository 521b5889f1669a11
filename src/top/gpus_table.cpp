// SPDX-License-Identifier: Apache-2.0
#include <set>

#include "top/kinds.h"
#include "top/sums.h"
#include "top/text.h"

namespace aliquot::top {
namespace {

using gpu::Metric;
using telemetry::Device;

std::vector<Column> gpu_columns() {
    using enum Shown;
    return {
        Column{"NODE", "node"}.by(Sort::kNode).only(kNodes).shrinking(),
        Column{"GPU", "gpu"}.by(Sort::kGpu),
        Column{"UUID", "uuid"}.only(kWide).leaving(14),
        Column{"MODEL", "model"}.by(Sort::kModel).shrinking().leaving(5),
        Column{"%GPU", "utilization_percent"}.by(Sort::kUtilization).at_right(),
        Column{"MEM/TOTAL", "memory_used_bytes"}.by(Sort::kMemory).at_right(),
        Column{"TOTAL", "memory_total_bytes"}.only(kCsv),
        Column{"W", "power_watts"}.by(Sort::kPower).at_right().leaving(4),
        Column{"LIMIT W", "power_limit_watts"}.only(kWide).at_right().leaving(13),
        Column{"C", "temperature_celsius"}.by(Sort::kTemperature).at_right().leaving(6),
        Column{"MHZ", "sm_clock_mhz"}.only(kWide).at_right().leaving(12),
        Column{"SHARING", "sharing"}.leaving(3),
        Column{"SLOTS", "slots_allocated"}.at_right().leaving(2),
        Column{"OF", "slots"}.only(kCsv),
        Column{"PODS", "pods"}.at_right().leaving(7),
        Column{"HEALTH", "health"}.leaving(1),
        Column{"REASON", "reason"}.only(kWide).leaving(15),
        Column{"HISTORY", ""}.only(kDynamic).leaving(8),
    };
}

std::string sharing_of(const Device& device) {
    const telemetry::Layout& layout = device.layout;
    std::string text(grant::metric_text(layout.mechanism));
    if (layout.replicas > 1) text += " x" + std::to_string(layout.replicas);
    return shown(text);
}

Cell metric_cell(const gpu::MetricValues& metrics, Metric metric, double factor = 1) {
    const auto value = metrics.get(metric);
    if (!value) return {"-", std::nullopt, Tone::kDim};
    const double number = *value * factor;
    return {std::to_string(whole_number(number + 0.5)), number};
}

Cell temperature_cell(const Device& device) {
    Cell cell = metric_cell(device.metrics, Metric::kTemperatureCelsius);
    const auto slowdown = device.metrics.get(Metric::kSlowdownCelsius);
    // Too hot is what this GPU's own driver calls so.
    if (cell.number && slowdown && *cell.number >= *slowdown - 5) cell.tone = Tone::kWarn;
    return cell;
}

Cell health_cell(const Device& device) {
    if (!device.problem.empty()) return {"Silent", Tone::kBad};
    switch (device.gpu.health.state) {
        case gpu::Health::State::kHealthy:
            return {"Healthy", Tone::kGood};
        case gpu::Health::State::kDegraded:
            return {"Degraded", Tone::kWarn};
        case gpu::Health::State::kUnhealthy:
            break;
    }
    return {"Unhealthy", Tone::kBad};
}

struct Crowd {
    std::set<std::string> pods;
    bool idle = true;  // none of them is busy, and there is one
    Subject names;
};

/// Who is on the GPU.
Crowd crowd_of(const telemetry::Snapshot& node, const Device& device) {
    Crowd crowd{.names = subject_of(node, device)};
    for (const telemetry::Part& part : device.parts) {
        for (const telemetry::Tenant& tenant : part.tenants) {
            if (tenant.ended) continue;
            const Subject subject = subject_of({node, device, part}, tenant);
            crowd.pods.insert(subject.pod_namespace + "/" + subject.pod);
            crowd.idle = crowd.idle && is_idle(tenant);
            for (auto text : {&Subject::pod_namespace, &Subject::pod, &Subject::container,
                              &Subject::resource, &Subject::command})
                crowd.names.*text += subject.*text + " ";
        }
    }
    crowd.idle = crowd.idle && !crowd.pods.empty();
    return crowd;
}

Row gpu_row(const telemetry::Snapshot& node, const Device& device) {
    Crowd crowd = crowd_of(node, device);
    unsigned slots = 0;
    unsigned allocated = 0;
    for (const auto& [resource, count] : device.layout.slots) slots += count;
    for (const auto& [resource, count] : device.layout.allocated) allocated += count;
    const auto total = memory_total_of(device);
    const std::string& reason = device.problem.empty() ? device.gpu.health.reason : device.problem;
    Row row{.key = gpu_key(device), .subject = std::move(crowd.names), .idle = crowd.idle};
    row.cells = {
        {shown(node.node)},
        {std::to_string(device.gpu.index), static_cast<double>(device.gpu.index)},
        {shown(device.gpu.uuid.text)},
        {shown(device.gpu.model)},
        percent_cell(busy_of(device)),
        memory_of_cell(device.total.memory_bytes, total),
        {memory_text(total), total ? std::optional(static_cast<double>(*total)) : std::nullopt},
        watts_cell(device.total.power_milliwatts),
        metric_cell(device.metrics, Metric::kEnforcedPowerLimitMilliwatts, 0.001),
        temperature_cell(device),
        metric_cell(device.metrics, Metric::kSmClockMhz),
        {sharing_of(device)},
        {std::to_string(allocated) + "/" + std::to_string(slots), static_cast<double>(allocated)},
        {std::to_string(slots), static_cast<double>(slots)},
        {std::to_string(crowd.pods.size()), static_cast<double>(crowd.pods.size())},
        health_cell(device),
        {shown(reason)},
        {""},
    };
    return row;
}

std::vector<Column> node_columns() {
    using enum Shown;
    return {
        Column{"NODE", "node"}.by(Sort::kNode).shrinking(),
        Column{"GPUS", "gpus"}.at_right().leaving(2),
        Column{"%GPU", "utilization_percent"}.by(Sort::kUtilization).at_right(),
        Column{"MEM/TOTAL", "memory_used_bytes"}.by(Sort::kMemory).at_right(),
        Column{"TOTAL", "memory_total_bytes"}.only(kCsv),
        Column{"W", "power_watts"}.by(Sort::kPower).at_right().leaving(4),
        Column{"SLOTS", "slots_allocated"}.at_right().leaving(1),
        Column{"OF", "slots"}.only(kCsv),
        Column{"PODS", "pods"}.at_right().leaving(3),
        Column{"IDLE", "idle_pods"}.by(Sort::kIdle).at_right().leaving(5),
        Column{"COST/H", "price_per_hour"}.by(Sort::kCost).at_right().leaving(6),
        Column{"DRIVER", "driver_version"}.only(kWide).leaving(8),
        Column{"AGENT", "agent"}.only(kWide).leaving(9),
        Column{"HISTORY", ""}.only(kDynamic).leaving(7),
        Column{"STATE", "problem"},
    };
}

Cell state_cell(const Agent& agent, const Sums& sums) {
    if (!agent.problem.empty()) return {shown(agent.problem), Tone::kBad};
    if (!agent.snapshot) return {"not asked yet", Tone::kDim};
    if (!agent.snapshot->driver_problem.empty())
        return {shown(agent.snapshot->driver_problem), Tone::kBad};
    if (sums.silent_gpus > 0)
        return {std::to_string(sums.silent_gpus) + " of its GPUs silent", Tone::kBad};
    if (sums.unhealthy_gpus > 0)
        return {std::to_string(sums.unhealthy_gpus) + " of its GPUs unhealthy", Tone::kBad};
    return {"ok", Tone::kGood};
}

Cell of_cell(unsigned part, unsigned whole) {
    return {std::to_string(part) + "/" + std::to_string(whole), static_cast<double>(part)};
}

Row node_row(const Agent& agent) {
    const telemetry::Snapshot nothing;
    const telemetry::Snapshot& node = agent.snapshot ? *agent.snapshot : nothing;
    const Sums sums = sums_of(node);
    const std::string name = node.node.empty() ? agent.address : node.node;
    Row row{.key = agent.snapshot ? node_key(node) : "a/" + agent.address,
            .subject = {.node = name + " " + agent.address},
            .idle = sums.pods > 0 && sums.idle_pods == sums.pods};
    for (const Device& device : node.devices) {
        const Subject names = crowd_of(node, device).names;
        for (auto text :
             {&Subject::gpu, &Subject::uuid, &Subject::model, &Subject::pod_namespace,
              &Subject::pod, &Subject::container, &Subject::resource, &Subject::command})
            row.subject.*text += names.*text + " ";
    }
    const auto count = [](unsigned value) {
        return Cell{std::to_string(value), static_cast<double>(value)};
    };
    const auto total = sums.memory_total_bytes;
    row.cells = {
        {shown(name)},
        count(sums.gpus),
        percent_cell(sums.utilization_ppm()),
        memory_of_cell(sums.memory_used_bytes, total),
        {memory_text(total), total ? std::optional(static_cast<double>(*total)) : std::nullopt},
        watts_cell(sums.power_milliwatts),
        of_cell(sums.allocated, sums.slots),
        count(sums.slots),
        count(sums.pods),
        count(sums.idle_pods),
        {sums.price_per_hour ? number_text(*sums.price_per_hour) : "-", sums.price_per_hour},
        {shown(node.driver_version)},
        {shown(agent.address)},
        {""},
        state_cell(agent, sums),
    };
    return row;
}

}  // namespace

Table gpus_table(const ClusterSnapshot& cluster, const Scope& scope) {
    Table table{.columns = gpu_columns(), .empty = "no GPU"};
    for (const Agent& agent : cluster.agents) {
        if (!agent.snapshot) continue;
        for (const Device& device : agent.snapshot->devices) {
            if (in_scope(scope, *agent.snapshot, device))
                table.rows.push_back(gpu_row(*agent.snapshot, device));
        }
    }
    return table;
}

Table nodes_table(const ClusterSnapshot& cluster) {
    Table table{.columns = node_columns(), .empty = "no node"};
    for (const Agent& agent : cluster.agents) table.rows.push_back(node_row(agent));
    return table;
}

}  // namespace aliquot::top
