// SPDX-License-Identifier: Apache-2.0
#include "page/node_tables.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/units.h"
#include "catalog/mig_profiles.h"
#include "grant/mechanism.h"
#include "page/history.h"
#include "page/share_tables.h"
#include "telemetry/split.h"
#include "top/kinds.h"
#include "top/sums.h"

namespace aliquot::page {
namespace {

using gpu::Metric;
using telemetry::Device;
using telemetry::Snapshot;

/// Of a unit of money; nothing that is not a price.
std::optional<std::uint64_t> micros(std::optional<double> price) {
    constexpr double kMostPrice = 1e6;
    if (!price || !(*price >= 0) || *price > kMostPrice) return std::nullopt;
    return static_cast<std::uint64_t>(std::llround(*price * kMillion));
}

Row node_row(const top::Agent& agent) {
    const bool known = agent.snapshot != nullptr;
    const std::string name = known ? agent.snapshot->node : agent.address;
    const top::Sums sums = known ? top::sums_of(*agent.snapshot) : top::Sums{};
    const std::string problem =
        !agent.problem.empty() || !known ? agent.problem : agent.snapshot->driver_problem;
    return RowWriter(name)
        .number(sums.gpus)
        .number(sums.silent_gpus)
        .number(sums.unhealthy_gpus)
        .number(percent(sums.utilization_ppm()))
        .number(mebibytes(sums.memory_used_bytes))
        .number(mebibytes(sums.memory_total_bytes))
        .number(watts(sums.power_milliwatts))
        .number(sums.slots)
        .number(sums.allocated)
        .number(sums.pods)
        .number(sums.idle_pods)
        .text(known ? agent.snapshot->driver_version : "")
        .text(problem)
        .number(known ? micros(agent.snapshot->price_per_gpu_hour) : std::nullopt)
        .done();
}

std::string sharing_text(const Device& device) {
    std::string text(grant::metric_text(device.layout.mechanism));
    if (device.layout.replicas > 1) text += " x" + std::to_string(device.layout.replicas);
    return text;
}

/// Memory slices of a GPU in MIG mode, for the drawing; 0: not cut.
unsigned slices_of(const gpu::Gpu& gpu) {
    if (!gpu.mig_enabled) return 0;
    unsigned most = 0;
    if (const auto* const model = catalog::find_gpu_model(gpu.model)) {
        for (const auto& profile : catalog::mig_profiles(*model)) {
            most = std::max(most, profile.memory_slices);
        }
    }
    for (const gpu::MigDevice& device : gpu.mig_devices) {
        most = std::max(most, device.placement.start + device.placement.size);
    }
    return most;
}

Row gpu_row(const Snapshot& node, const Device& device) {
    unsigned slots = 0;
    unsigned allocated = 0;
    for (const auto& [resource, count] : device.layout.slots) slots += count;
    for (const auto& [resource, count] : device.layout.allocated) allocated += count;
    const gpu::Health& health = device.gpu.health;
    return RowWriter(gpu_row_key(node.node, device.gpu.index))
        .text(device.gpu.model)
        .number(mebibytes(top::memory_total_of(device)))
        .number(mebibytes(device.total.memory_bytes))
        .number(percent(top::busy_of(device)))
        .text(sharing_text(device))
        .number(slots)
        .number(allocated)
        .text(device.problem.empty() ? gpu::to_text(health.state) : "Silent")
        .text(device.problem.empty() ? health.reason : device.problem)
        .text(health.advice)
        .number(slices_of(device.gpu))
        .done();
}

std::string severity_of(std::string_view level) {
    return level == "error" || level == "warning" ? std::string(level) : "note";
}

/// What to do about GPUs that are not well, by the key of their row.
std::map<std::string, std::string> advice_of(const top::ClusterSnapshot& cluster) {
    std::map<std::string, std::string> all;
    for (const top::Agent& agent : cluster.agents) {
        if (!agent.snapshot) continue;
        for (const Device& device : agent.snapshot->devices) {
            if (device.gpu.health.advice.empty()) continue;
            all[gpu_row_key(agent.snapshot->node, device.gpu.index)] = device.gpu.health.advice;
        }
    }
    return all;
}

void add_findings(Table& table, const Sight& sight) {
    const auto advice = advice_of(sight.cluster);
    constexpr std::size_t kLevel = 2;
    constexpr std::size_t kCount = 3;
    constexpr std::size_t kWhat = 5;
    for (const top::Row& row : top::errors_table(sight.cluster).rows) {
        std::string where = row.subject.node;
        if (!row.subject.gpu.empty()) where += " GPU " + row.subject.gpu;
        const auto& count = row.cells[kCount].number;
        // What to do has a column of its own here.
        std::string_view what = row.cells[kWhat].text;
        std::string_view fix;
        const auto told = advice.find(row.subject.node + "/" + row.subject.gpu);
        if (told != advice.end() && what.ends_with("; " + told->second)) {
            fix = told->second;
            what.remove_suffix(fix.size() + 2);
        }
        table.rows.push_back(RowWriter("m/" + row.key)
                                 .text(severity_of(row.cells[kLevel].text))
                                 .text(where)
                                 .text(what)
                                 .text(fix)
                                 .number(count && *count >= 0
                                             ? std::optional(static_cast<std::uint64_t>(*count))
                                             : std::nullopt)
                                 .done());
    }
    for (const Remark& remark : sight.remarks) {
        table.rows.push_back(RowWriter("r/" + remark.where + "/" + remark.what)
                                 .text(remark.severity)
                                 .text(remark.where)
                                 .text(remark.what)
                                 .text(remark.fix)
                                 .number(std::nullopt)
                                 .done());
    }
}

Row pod_row(const PodSeen& pod) {
    return RowWriter(pod.pod_namespace + "/" + pod.name)
        .text(pod.phase)
        .text(pod.node)
        .text(pod.gpu)
        .text(pod.share)
        .text(pod.reason)
        .done();
}

}  // namespace

Breadth breadth_of(const top::ClusterSnapshot& cluster) {
    std::size_t shares = 0;
    for (const top::Agent& agent : cluster.agents) {
        if (!agent.snapshot) continue;
        for (const Device& device : agent.snapshot->devices) {
            for (const telemetry::Part& part : device.parts) shares += part.tenants.size();
        }
    }
    return shares > kMostShares ? Breadth::kWithoutShares : Breadth::kWhole;
}

std::vector<Table> tables_of(const Sight& sight, Breadth breadth) {
    Table nodes{.name = "nodes",
                .columns = {"node", "gpus", "silent", "unhealthy", "busy", "memoryUsed",
                            "memoryTotal", "watts", "slots", "allocated", "pods", "idlePods",
                            "driver", "problem", "gpuHourMicros"},
                .rows = {}};
    Table gpus{.name = "gpus",
               .columns = {"gpu", "model", "memoryTotal", "memoryUsed", "busy", "sharing", "slots",
                           "allocated", "health", "reason", "advice", "slices"},
               .rows = {}};
    Table pods{
        .name = "pods", .columns = {"pod", "phase", "node", "gpu", "share", "reason"}, .rows = {}};
    Table findings{.name = "findings",
                   .columns = {"id", "severity", "where", "what", "fix", "count"},
                   .rows = {}};
    std::vector<std::string> names;
    for (const top::Agent& agent : sight.cluster.agents) {
        nodes.rows.push_back(node_row(agent));
        if (!agent.snapshot) continue;
        names.push_back(agent.snapshot->node);
        for (const Device& device : agent.snapshot->devices) {
            gpus.rows.push_back(gpu_row(*agent.snapshot, device));
        }
    }
    for (const PodSeen& pod : sight.pods) pods.rows.push_back(pod_row(pod));
    add_findings(findings, sight);
    std::vector<Table> all;
    for (Table* const table : {&nodes, &gpus, &pods, &findings}) all.push_back(std::move(*table));
    if (breadth == Breadth::kWhole) {
        for (Table& table : share_tables(sight.cluster, names)) all.push_back(std::move(table));
    }
    all.insert(all.end(), sight.more.begin(), sight.more.end());
    return all;
}

}  // namespace aliquot::page
