// SPDX-License-Identifier: Apache-2.0
#include "top/kinds.h"
#include "top/sums.h"
#include "top/text.h"

namespace aliquot::top {
namespace {

using telemetry::Tenant;

std::vector<Column> tree_columns() {
    return {
        Column{"NODE / GPU / POD / PROCESS", "name"}.shrinking(34),
        Column{"SHARE", "share_percent"}.at_right().leaving(4),
        Column{"%GPU", "utilization_percent"}.at_right(),
        Column{"%SHARE", "share_utilization_percent"}.at_right().leaving(2),
        Column{"MEM/LIMIT", "memory_used_bytes"}.at_right(),
        Column{"W", "power_watts"}.at_right().leaving(3),
        Column{"IDLE", "idle_seconds"}.at_right().leaving(1),
        Column{"HISTORY", ""}.only(Shown::kDynamic).leaving(5),
    };
}

const Cell& nothing() {
    static const Cell kNothing{"", std::nullopt};
    return kNothing;
}

Row line(std::string key, Subject subject, unsigned depth, Cell name) {
    Row row{.key = std::move(key), .subject = std::move(subject), .depth = depth};
    row.cells.assign(tree_columns().size(), nothing());
    row.cells[0] = std::move(name);
    return row;
}

void fill(Row& row, const telemetry::Amounts& amounts, std::optional<std::uint64_t> busy,
          std::optional<std::uint64_t> memory_limit) {
    row.cells[2] = percent_cell(busy);
    row.cells[4] = memory_of_cell(amounts.memory_bytes, memory_limit);
    row.cells[5] = watts_cell(amounts.power_milliwatts);
}

void add_processes(Table& table, const Place& place, const Subject& subject,
                   const std::vector<telemetry::Process>& processes, unsigned depth) {
    for (const telemetry::Process& process : processes) {
        Subject own = subject;
        own.command = process.command;
        Row row = line(part_key(place.device, place.part) + "/pid " + std::to_string(process.pid),
                       std::move(own), depth,
                       {std::to_string(process.pid) + " " + shown(process.command), Tone::kDim});
        row.cells[2] = percent_cell(process.utilization_ppm);
        row.cells[4] = memory_cell(process.memory_bytes);
        table.rows.push_back(std::move(row));
    }
}

class Tree {
public:
    Tree(Sort sort, bool reverse) : sort_(sort), reverse_(reverse) {
        table.columns = tree_columns();
        table.empty = "no node";
    }

    void add(const Agent& agent) {
        if (!agent.snapshot) {
            table.rows.push_back(line("a/" + agent.address, {.node = agent.address}, 0,
                                      {shown(agent.address + ": " + agent.problem), Tone::kBad}));
            return;
        }
        const telemetry::Snapshot& node = *agent.snapshot;
        const Sums sums = sums_of(node);
        Row row = line(node_key(node), {.node = node.node}, 0, {shown(node.node), Tone::kTitle});
        row.cells[2] = percent_cell(sums.utilization_ppm());
        row.cells[4] = memory_of_cell(sums.memory_used_bytes, sums.memory_total_bytes);
        row.cells[5] = watts_cell(sums.power_milliwatts);
        table.rows.push_back(std::move(row));
        for (const telemetry::Device& device : node.devices) add(node, device);
    }

    Table table;

private:
    void add(const telemetry::Snapshot& node, const telemetry::Device& device) {
        std::string name = "GPU " + std::to_string(device.gpu.index) + " " + device.gpu.model;
        if (!device.problem.empty()) name += ": " + device.problem;
        Row row = line(gpu_key(device), subject_of(node, device), 1,
                       {shown(name), device.problem.empty() ? Tone::kPlain : Tone::kBad});
        fill(row, device.total, busy_of(device), memory_total_of(device));
        table.rows.push_back(std::move(row));
        for (const telemetry::Part& part : device.parts) add({node, device, part});
    }

    void add(const Place& place) {
        unsigned depth = 2;
        const telemetry::Part& part = place.part;
        if (part.gpu_instance) {
            Row row =
                line(part_key(place.device, part), subject_of(place.node, place.device), depth++,
                     {"MIG " + shown(part.profile) + " (GI " + std::to_string(*part.gpu_instance) +
                      ")"});
            const auto memory = part.metrics.get(gpu::Metric::kMemoryTotalBytes);
            fill(row, part.total, part.total.utilization_ppm,
                 memory ? std::optional(whole_number(*memory)) : std::nullopt);
            table.rows.push_back(std::move(row));
        }
        Table pods = pods_table_of(place);
        for (const Row& sorted : pods.rows) {
            const auto index = static_cast<std::size_t>(*sorted.cells[0].number);
            add_tenant(place, part.tenants[index], depth);
        }
        add_processes(table, place, subject_of(place.node, place.device), part.others, depth);
    }

    /// The tenants' places in the list, sorted.
    Table pods_table_of(const Place& place) {
        Table pods{.columns = {Column{"", ""}, Column{"", ""}.by(sort_)}};
        for (std::size_t i = 0; i < place.part.tenants.size(); ++i) {
            const Tenant& tenant = place.part.tenants[i];
            if (tenant.ended) continue;
            Row row;
            row.cells = {{"", static_cast<double>(i)}, by(place, tenant)};
            pods.rows.push_back(std::move(row));
        }
        sort_rows(pods, sort_, reverse_);
        return pods;
    }

    Cell by(const Place& place, const Tenant& tenant) {
        switch (sort_) {
            case Sort::kShare:
                return share_cell(place, tenant);
            case Sort::kShareUtilization:
                return percent_cell(tenant.share_utilization_ppm);
            case Sort::kMemory:
                return memory_cell(tenant.amounts.memory_bytes);
            case Sort::kPower:
                return watts_cell(tenant.amounts.power_milliwatts);
            case Sort::kIdle:
                return idle_cell(tenant);
            case Sort::kAge:
                return age_cell(tenant);
            case Sort::kNamespace:
                return {tenant.owner.pod_namespace};
            case Sort::kUtilization:
                return percent_cell(tenant.amounts.utilization_ppm);
            default:
                return {pod_name(tenant)};
        }
    }

    void add_tenant(const Place& place, const Tenant& tenant, unsigned depth) {
        Subject subject = subject_of(place, tenant);
        std::string name = pod_name(tenant);
        if (!tenant.owner.pod_namespace.empty()) name = tenant.owner.pod_namespace + "/" + name;
        Row row = line(tenant_key(place.device, place.part, tenant), subject, depth, {shown(name)});
        fill(row, tenant.amounts, tenant.amounts.utilization_ppm, tenant.memory_limit_bytes);
        row.cells[1] = share_cell(place, tenant);
        row.cells[3] = percent_cell(tenant.share_utilization_ppm);
        row.cells[6] = idle_cell(tenant);
        row.idle = is_idle(tenant);
        table.rows.push_back(std::move(row));
        add_processes(table, place, subject, tenant.processes, depth + 1);
    }

    Sort sort_;
    bool reverse_;
};

}  // namespace

Table tree_table(const ClusterSnapshot& cluster, Sort sort, bool reverse) {
    Tree tree(sort, reverse);
    for (const Agent& agent : cluster.agents) tree.add(agent);
    return std::move(tree.table);
}

}  // namespace aliquot::top
