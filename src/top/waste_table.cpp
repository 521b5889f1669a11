// SPDX-License-Identifier: Apache-2.0
#include "top/kinds.h"
#include "top/sums.h"
#include "top/text.h"

namespace aliquot::top {
namespace {

constexpr double kNsPerHour = 3.6e12;

std::vector<Column> waste_columns() {
    using enum Shown;
    return {
        Column{"POD", "pod"}.by(Sort::kPod).shrinking(16),
        Column{"NS", "namespace"}.by(Sort::kNamespace).shrinking().leaving(5),
        Column{"NODE", "node"}.by(Sort::kNode).only(kNodes).shrinking().leaving(4),
        Column{"GPU", "gpu"}.by(Sort::kGpu).leaving(1),
        Column{"SHARE", "share_percent"}.by(Sort::kShare).at_right().leaving(3),
        Column{"MEM/LIMIT", "memory_used_bytes"}.by(Sort::kMemory).at_right().leaving(6),
        Column{"IDLE", "idle_seconds"}.by(Sort::kIdle).at_right(),
        Column{"IDLE%", "idle_of_held_percent"}.by(Sort::kUtilization).at_right().leaving(2),
        Column{"GPU-H", "idle_gpu_hours"}.by(Sort::kAge).at_right(),
        Column{"COST", "idle_cost"}.by(Sort::kCost).at_right(),
        Column{"COST/H", "idle_cost_per_hour"}.at_right().leaving(7),
    };
}

Cell money_cell(std::optional<double> price, double gpu_hours) {
    if (!price) return {"-", std::nullopt, Tone::kDim};
    return {number_text(*price * gpu_hours), *price * gpu_hours};
}

/// A tenant that has held its share without using it.
Row tenant_row(const Place& place, const telemetry::Tenant& tenant) {
    const double part = static_cast<double>(entitlement_of_gpu(place.device, place.part, tenant)) /
                        telemetry::kMillion;
    const std::uint64_t idle_held = tenant.idle_held_ns.value_or(0);
    const double hours = static_cast<double>(idle_held) / kNsPerHour * part;
    std::optional<std::uint64_t> of_held;
    if (tenant.idle_held_ns && tenant.held_ns > 0) {
        of_held = whole_number(static_cast<double>(idle_held) /
                               static_cast<double>(tenant.held_ns) * telemetry::kMillion);
    }
    Row row{.key = tenant_key(place.device, place.part, tenant),
            .subject = subject_of(place, tenant),
            .idle = is_idle(tenant)};
    row.cells = {
        {shown(pod_name(tenant))},
        {shown(tenant.owner.pod_namespace)},
        {shown(place.node.node)},
        {gpu_text(place)},
        share_cell(place, tenant),
        memory_of_cell(tenant.amounts.memory_bytes, tenant.memory_limit_bytes),
        idle_cell(tenant),
        percent_cell(of_held),
        {number_text(hours), hours},
        money_cell(place.node.price_per_gpu_hour, hours),
        money_cell(place.node.price_per_gpu_hour, row.idle ? part : 0),
    };
    return row;
}

/// Slots of a GPU that nobody holds. Only what is free now is known, not for how long.
std::optional<Row> free_row(const telemetry::Snapshot& node, const telemetry::Device& device) {
    unsigned slots = 0;
    unsigned allocated = 0;
    for (const auto& [resource, count] : device.layout.slots) slots += count;
    for (const auto& [resource, count] : device.layout.allocated) allocated += count;
    if (slots == 0 || allocated >= slots || !device.gpu.health.ok()) return std::nullopt;
    const double part = static_cast<double>(slots - allocated) / slots;
    Row row{.key = gpu_key(device) + "/free", .subject = subject_of(node, device), .idle = true};
    const Cell nothing{"", std::nullopt};
    row.cells = {
        {"(" + std::to_string(slots - allocated) + " of " + std::to_string(slots) + " slots free)",
         Tone::kDim},
        {""},
        {shown(node.node)},
        {std::to_string(device.gpu.index)},
        {percent_text(static_cast<std::uint64_t>(part * telemetry::kMillion)) + "%", part * 100},
        nothing,
        nothing,
        nothing,
        nothing,
        nothing,
        money_cell(node.price_per_gpu_hour, part),
    };
    return row;
}

}  // namespace

namespace {

/// "0.52 GPU-h held idle, cost 1.30; 1.25/h now".
std::string total_of(const Table& table) {
    double hours = 0;
    double cost = 0;
    double per_hour = 0;
    bool priced = false;
    for (const Row& row : table.rows) {
        hours += row.cells[8].number.value_or(0);
        cost += row.cells[9].number.value_or(0);
        per_hour += row.cells[10].number.value_or(0);
        priced = priced || row.cells[10].number;
    }
    if (table.rows.empty()) return "";
    std::string text = number_text(hours) + " GPU-h held idle";
    if (priced) text += ", cost " + number_text(cost) + "; " + number_text(per_hour) + "/h now";
    return text;
}

}  // namespace

Table waste_table(const ClusterSnapshot& cluster) {
    Table table{.columns = waste_columns(), .empty = "nothing is wasted: no share is held unused"};
    for (const Agent& agent : cluster.agents) {
        if (!agent.snapshot) continue;
        for (const telemetry::Device& device : agent.snapshot->devices) {
            for (const telemetry::Part& part : device.parts) {
                for (const telemetry::Tenant& tenant : part.tenants) {
                    if (tenant.ended || tenant.resource.empty()) continue;
                    if (tenant.idle_held_ns.value_or(0) == 0 && !is_idle(tenant)) continue;
                    table.rows.push_back(tenant_row({*agent.snapshot, device, part}, tenant));
                }
            }
            if (auto row = free_row(*agent.snapshot, device)) table.rows.push_back(*std::move(row));
        }
    }
    table.total = total_of(table);
    return table;
}

}  // namespace aliquot::top
