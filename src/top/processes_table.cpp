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
        Column{"USER", "user"}.by(Sort::kUser).leaving(6),
        Column{"POD", "pod"}.by(Sort::kPod).shrinking().leaving(1),
        Column{"NS", "namespace"}.by(Sort::kNamespace).shrinking().leaving(4),
        Column{"CONTAINER", "container"}.only(kWide).leaving(7),
        Column{"NODE", "node"}.by(Sort::kNode).only(kNodes).shrinking().leaving(3),
        Column{"GPU", "gpu"}.by(Sort::kGpu).leaving(2),
        Column{"UUID", "uuid"}.only(kCsv),
        Column{"TYPE", "type"}.leaving(5),
        Column{"%GPU", "utilization_percent"}.by(Sort::kUtilization).at_right(),
        Column{"MEM", "memory_used_bytes"}.by(Sort::kMemory).at_right(),
        Column{"%CPU", "cpu_percent"}.by(Sort::kCpu).at_right().leaving(8),
        Column{"COMMAND", "command"}.by(Sort::kCommand).shrinking(),
        Column{"COMMAND LINE", "command_line"}.only(kCsv),
    };
}

/// As nvidia-smi has it: compute, graphics, both; M for a client of MPS.
std::string type_of(const Process& process) {
    if (process.mps_client) return "M+C";
    return process.graphics ? "G" : "C";
}

/// What is known of it on this machine; of other nodes' processes nothing.
ProcessFacts facts_of(const Agent& agent, const Process& process) {
    const auto found = agent.processes.find(process.pid);
    return found == agent.processes.end() ? ProcessFacts{} : found->second;
}

std::string or_dash(const std::string& text) { return text.empty() ? "-" : shown(text); }

/// tenant   null: it belongs to none
Row process_row(const Agent& agent, const Place& place, const Tenant* tenant,
                const Process& process, const History& history) {
    Subject subject =
        tenant != nullptr ? subject_of(place, *tenant) : subject_of(place.node, place.device);
    subject.command = process.command;
    Row row{.key = part_key(place.device, place.part) + "/pid " + std::to_string(process.pid),
            .subject = std::move(subject)};
    const ProcessFacts facts = facts_of(agent, process);
    row.cells = {
        {std::to_string(process.pid), static_cast<double>(process.pid)},
        {or_dash(facts.user)},
        {tenant != nullptr ? shown(row.subject.pod) : "-"},
        {shown(row.subject.pod_namespace)},
        {shown(row.subject.container)},
        {shown(place.node.node)},
        {gpu_text(place)},
        {shown(place.device.gpu.uuid.text)},
        {type_of(process)},
        percent_cell(process.utilization_ppm),
        memory_cell(process.memory_bytes),
        percent_cell(history.cpu_ppm(row.key)),
        {or_dash(facts.command_line.empty() ? process.command : facts.command_line)},
        {shown(facts.command_line)},
    };
    return row;
}

}  // namespace

Table processes_table(const ClusterSnapshot& cluster, const History& history, const Scope& scope) {
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
                        table.rows.push_back(process_row(agent, place, &tenant, process, history));
                }
                if (!scope.tenant.empty()) continue;
                for (const Process& process : part.others)
                    table.rows.push_back(process_row(agent, place, nullptr, process, history));
            }
        }
    }
    return table;
}

}  // namespace aliquot::top
