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
        {.title = "POD", .field = "pod", .sort = Sort::kPod, .elastic = true, .least = 16},
        {.title = "NS",
         .field = "namespace",
         .sort = Sort::kNamespace,
         .elastic = true,
         .priority = 5},
        {.title = "CONTAINER", .field = "container", .shown = kWide, .priority = 14},
        {.title = "NODE",
         .field = "node",
         .sort = Sort::kNode,
         .shown = kNodes,
         .elastic = true,
         .priority = 4},
        {.title = "GPU", .field = "gpu", .sort = Sort::kGpu, .priority = 1},
        {.title = "UUID", .field = "uuid", .shown = kCsv},
        {.title = "GI", .field = "gpu_instance", .shown = kCsv},
        {.title = "RESOURCE", .field = "resource", .shown = kWide, .priority = 15},
        {.title = "SHARE",
         .field = "share_percent",
         .sort = Sort::kShare,
         .right = true,
         .priority = 6},
        {.title = "%GPU",
         .field = "utilization_percent",
         .sort = Sort::kUtilization,
         .right = true},
        {.title = "%SHARE",
         .field = "share_utilization_percent",
         .sort = Sort::kShareUtilization,
         .right = true,
         .priority = 2},
        {.title = "MEM/LIMIT", .field = "memory_used_bytes", .sort = Sort::kMemory, .right = true},
        {.title = "LIMIT", .field = "memory_limit_bytes", .shown = kCsv},
        {.title = "PEAK",
         .field = "memory_peak_bytes",
         .shown = kWide,
         .right = true,
         .priority = 12},
        {.title = "DENIED", .field = "denied_total", .shown = kWide, .right = true, .priority = 13},
        {.title = "THR%",
         .field = "throttled_percent",
         .sort = Sort::kThrottled,
         .right = true,
         .priority = 7},
        {.title = "W", .field = "power_watts", .sort = Sort::kPower, .right = true, .priority = 8},
        {.title = "IDLE",
         .field = "idle_seconds",
         .sort = Sort::kIdle,
         .right = true,
         .priority = 3},
        {.title = "AGE", .field = "held_seconds", .sort = Sort::kAge, .right = true, .priority = 9},
        {.title = "BUSY",
         .field = "busy_seconds_total",
         .shown = kWide,
         .right = true,
         .priority = 11},
        {.title = "FROM", .field = "source", .shown = kWide, .priority = 16},
        {.title = "HISTORY", .field = "", .shown = kDynamic, .priority = 10},
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

Table pods_table(const World& world, const History& history, const Scope& scope,
                 Remainders remainders) {
    Table table{.columns = pods_columns(), .empty = "no pod holds or uses a GPU"};
    for (const Agent& agent : world.agents) {
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
