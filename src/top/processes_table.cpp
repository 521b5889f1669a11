// SPDX-License-Identifier: Apache-2.0
#include "top/kinds.h"
#include "top/text.h"

namespace aliquot::top {
namespace {

using telemetry::Process;
using telemetry::Tenant;

std::vector<Column> processes_columns() {
    using enum Shown;
    return {
        Column{"PID", "pid"}.by(Sort::kPid).at_right(),
        Column{"COMMAND", "command"}.by(Sort::kCommand).shrinking(),
        Column{"POD", "pod"}.by(Sort::kPod).shrinking().leaving(1),
        Column{"NS", "namespace"}.by(Sort::kNamespace).shrinking().leaving(4),
        Column{"CONTAINER", "container"}.only(kWide).leaving(7),
        Column{"NODE", "node"}.by(Sort::kNode).only(kNodes).shrinking().leaving(3),
        Column{"GPU", "gpu"}.by(Sort::kGpu).leaving(2),
        Column{"UUID", "uuid"}.only(kCsv),
        Column{"TYPE", "type"}.leaving(5),
        Column{"%GPU", "utilization_percent"}.by(Sort::kUtilization).at_right(),
        Column{"MEM", "memory_used_bytes"}.by(Sort::kMemory).at_right(),
    };
}

/// As nvidia-smi has it: compute, graphics, both; M for a client of MPS.
std::string type_of(const Process& process) {
    if (process.mps_client) return "M+C";
    return process.graphics ? "G" : "C";
}

/// tenant   null: it belongs to none
Row process_row(const Place& place, const Tenant* tenant, const Process& process) {
    Subject subject =
        tenant != nullptr ? subject_of(place, *tenant) : subject_of(place.node, place.device);
    subject.command = process.command;
    Row row{.key = part_key(place.device, place.part) + "/pid " + std::to_string(process.pid),
            .subject = std::move(subject)};
    row.cells = {
        {std::to_string(process.pid), static_cast<double>(process.pid)},
        {process.command.empty() ? "-" : shown(process.command)},
        {tenant != nullptr ? shown(row.subject.pod) : "-"},
        {shown(row.subject.pod_namespace)},
        {shown(row.subject.container)},
        {shown(place.node.node)},
        {gpu_text(place)},
        {shown(place.device.gpu.uuid.text)},
        {type_of(process)},
        percent_cell(process.utilization_ppm),
        memory_cell(process.memory_bytes),
    };
    return row;
}

}  // namespace

Table processes_table(const ClusterSnapshot& cluster, const Scope& scope) {
    Table table{.columns = processes_columns(), .empty = "no process is known here"};
    for (const Agent& agent : cluster.agents) {
        if (!agent.snapshot) continue;
        for (const telemetry::Device& device : agent.snapshot->devices) {
            if (!in_scope(scope, *agent.snapshot, device)) continue;
            for (const telemetry::Part& part : device.parts) {
                const Place place{*agent.snapshot, device, part};
                for (const Tenant& tenant : part.tenants) {
                    if (!scope.tenant.empty() && scope.tenant != tenant_key(device, part, tenant))
                        continue;
                    for (const Process& process : tenant.processes)
                        table.rows.push_back(process_row(place, &tenant, process));
                }
                if (!scope.tenant.empty()) continue;
                for (const Process& process : part.others)
                    table.rows.push_back(process_row(place, nullptr, process));
            }
        }
    }
    return table;
}

}  // namespace aliquot::top
