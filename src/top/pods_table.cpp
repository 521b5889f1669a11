// SPDX-License-Identifier: Apache-2.0
#include "top/kinds.h"
#include "top/sums.h"
#include "top/text.h"

namespace aliquot::top {
namespace {

using telemetry::Tenant;

std::vector<Column> pods_columns() {
    using enum Shown;
    return {
        Column{"POD", "pod"}.by(Sort::kPod).shrinking(16),
        Column{"NS", "namespace"}.by(Sort::kNamespace).shrinking().leaving(5),
        Column{"CONTAINER", "container"}.only(kWide).leaving(14),
        Column{"NODE", "node"}.by(Sort::kNode).only(kNodes).shrinking().leaving(4),
        Column{"GPU", "gpu"}.by(Sort::kGpu).leaving(1),
        Column{"UUID", "uuid"}.only(kCsv),
        Column{"GI", "gpu_instance"}.only(kCsv),
        Column{"RESOURCE", "resource"}.only(kWide).leaving(15),
        Column{"SHARE", "share_percent"}.by(Sort::kShare).at_right().leaving(6),
        Column{"%GPU", "utilization_percent"}.by(Sort::kUtilization).at_right(),
        Column{"%SHARE", "share_utilization_percent"}
            .by(Sort::kShareUtilization)
            .at_right()
            .leaving(2),
        Column{"MEM/LIMIT", "memory_used_bytes"}.by(Sort::kMemory).at_right(),
        Column{"LIMIT", "memory_limit_bytes"}.only(kCsv),
        Column{"PEAK", "memory_peak_bytes"}.only(kWide).at_right().leaving(12),
        Column{"DENIED", "denied_total"}.only(kWide).at_right().leaving(13),
        Column{"THR%", "throttled_percent"}.by(Sort::kThrottled).at_right().leaving(7),
        Column{"W", "power_watts"}.by(Sort::kPower).at_right().leaving(8),
        Column{"IDLE", "idle_seconds"}.by(Sort::kIdle).at_right().leaving(3),
        Column{"AGE", "held_seconds"}.by(Sort::kAge).at_right().leaving(9),
        Column{"BUSY", "busy_seconds_total"}.only(kWide).at_right().leaving(11),
        Column{"FROM", "source"}.only(kWide).leaving(16),
        Column{"HISTORY", ""}.only(kDynamic).leaving(10),
    };
}

Cell seconds_cell(std::optional<std::uint64_t> ns) {
    if (!ns) return {"-", std::nullopt, Tone::kDim};
    return {duration_text(ns), static_cast<double>(*ns) * 1e-9};
}

Cell count_cell(std::optional<std::uint64_t> count) {
    if (!count) return {"-", std::nullopt, Tone::kDim};
    return {std::to_string(*count), static_cast<double>(*count),
            *count > 0 ? Tone::kWarn : Tone::kPlain};
}

Cell instance_cell(const telemetry::Part& part) {
    if (!part.gpu_instance) return {"", std::nullopt};
    return {std::to_string(*part.gpu_instance), static_cast<double>(*part.gpu_instance)};
}

Row tenant_row(const History& history, const Place& place, const Tenant& tenant) {
    Row row{.key = tenant_key(place.device, place.part, tenant),
            .subject = subject_of(place, tenant),
            .idle = is_idle(tenant)};
    const telemetry::Amounts& amounts = tenant.amounts;
    Cell share = percent_cell(tenant.share_utilization_ppm);
    const auto limit = tenant.memory_limit_bytes
                           ? std::optional(static_cast<double>(*tenant.memory_limit_bytes))
                           : std::nullopt;
    row.cells = {
        {shown(pod_name(tenant))},
        {shown(tenant.owner.pod_namespace)},
        {shown(tenant.owner.container)},
        {shown(place.node.node)},
        {gpu_text(place)},
        {shown(place.device.gpu.uuid.text)},
        instance_cell(place.part),
        {shown(tenant.resource)},
        share_cell(place, tenant),
        percent_cell(amounts.utilization_ppm),
        std::move(share),
        memory_of_cell(amounts.memory_bytes, tenant.memory_limit_bytes),
        {memory_text(tenant.memory_limit_bytes), limit},
        memory_cell(tenant.memory_peak_bytes),
        count_cell(tenant.denied),
        throttled_cell(history, row.key, tenant),
        watts_cell(amounts.power_milliwatts),
        idle_cell(tenant),
        age_cell(tenant),
        seconds_cell(amounts.busy_ns),
        {std::string(to_text(tenant.source))},
        {""},
    };
    return row;
}

bool is_something(const telemetry::Amounts& amounts) {
    return amounts.memory_bytes.value_or(0) > 0 || amounts.utilization_ppm.value_or(0) > 0 ||
           amounts.busy_ns.value_or(0) > 0 || amounts.power_milliwatts.value_or(0) > 0;
}

/// What of the part belongs to no tenant.
Row rest_row(const History& history, const Place& place) {
    Tenant rest;
    rest.amounts = place.part.remainder;
    Row row = tenant_row(history, place, rest);
    row.key = part_key(place.device, place.part) + "/rest";
    row.cells.front() = {"(rest)", Tone::kDim};
    for (const std::size_t unknown : {8UL, 18UL}) row.cells[unknown] = {"-", std::nullopt};
    row.cells[20] = {""};
    return row;
}

}  // namespace

std::string gpu_text(const Place& place) {
    const std::string index = std::to_string(place.device.gpu.index);
    if (!place.part.gpu_instance) return index;
    return index + ":" + std::to_string(*place.part.gpu_instance);
}

bool in_scope(const Scope& scope, const telemetry::Snapshot& node,
              const telemetry::Device& device) {
    if (!scope.node.empty() && scope.node != node_key(node)) return false;
    return scope.gpu.empty() || scope.gpu == gpu_key(device);
}

Subject subject_of(const telemetry::Snapshot& node, const telemetry::Device& device) {
    return {.node = node.node,
            .gpu = std::to_string(device.gpu.index),
            .uuid = device.gpu.uuid.text,
            .model = device.gpu.model};
}

Subject subject_of(const Place& place, const Tenant& tenant) {
    Subject subject = subject_of(place.node, place.device);
    subject.pod_namespace = tenant.owner.pod_namespace;
    subject.pod = pod_name(tenant);
    subject.container = tenant.owner.container;
    subject.resource = tenant.resource;
    for (const telemetry::Process& process : tenant.processes)
        subject.command += process.command + " ";
    return subject;
}

Table pods_table(const ClusterSnapshot& cluster, const History& history, const Scope& scope,
                 Remainders remainders) {
    Table table{.columns = pods_columns(), .empty = "no pod holds or uses a GPU"};
    for (const Agent& agent : cluster.agents) {
        if (!agent.snapshot) continue;
        for (const telemetry::Device& device : agent.snapshot->devices) {
            if (!in_scope(scope, *agent.snapshot, device)) continue;
            for (const telemetry::Part& part : device.parts) {
                const Place place{*agent.snapshot, device, part};
                for (const Tenant& tenant : part.tenants) {
                    if (!tenant.ended) table.rows.push_back(tenant_row(history, place, tenant));
                }
                if (remainders == Remainders::kShown && is_something(part.remainder))
                    table.rows.push_back(rest_row(history, place));
            }
        }
    }
    return table;
}

}  // namespace aliquot::top
