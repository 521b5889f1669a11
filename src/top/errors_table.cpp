// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "gpu/health.h"
#include "top/kinds.h"
#include "top/text.h"

namespace aliquot::top {
namespace {

using gpu::Metric;
using telemetry::Device;
using telemetry::Snapshot;

std::vector<Column> errors_columns() {
    return {
        Column{"NODE", "node"}.by(Sort::kNode).only(Shown::kNodes).shrinking(),
        Column{"GPU", "gpu"}.by(Sort::kGpu),
        Column{"LEVEL", "level"},
        Column{"COUNT", "count"}.by(Sort::kUtilization).at_right(),
        Column{"AGO", "seconds_ago"}.by(Sort::kAge).at_right(),
        Column{"WHAT", "what"},
    };
}

enum class Level : std::uint8_t { kError, kWarning, kNote };

Cell level_cell(Level level) {
    switch (level) {
        case Level::kError:
            return {"error", Tone::kBad};
        case Level::kWarning:
            return {"warning", Tone::kWarn};
        case Level::kNote:
            break;
    }
    return {"note", Tone::kDim};
}

struct Trouble {
    Level level = Level::kWarning;
    std::string what;
    std::optional<std::uint64_t> count;
    telemetry::Moment at;  // the epoch: not known
};

Row trouble_row(const ClusterSnapshot& cluster, Subject subject, const std::string& key,
                const Trouble& trouble) {
    Row row{.key = key + "/" + trouble.what, .subject = std::move(subject)};
    std::optional<std::uint64_t> ago;
    if (trouble.at > telemetry::Moment{} && cluster.now >= trouble.at) {
        ago = static_cast<std::uint64_t>(
            std::chrono::duration_cast<std::chrono::nanoseconds>(cluster.now - trouble.at).count());
    }
    row.cells = {
        {shown(row.subject.node)},
        {row.subject.gpu.empty() ? "-" : row.subject.gpu},
        level_cell(trouble.level),
        {trouble.count ? std::to_string(*trouble.count) : "-",
         trouble.count ? std::optional(static_cast<double>(*trouble.count)) : std::nullopt},
        {duration_text(ago), ago ? std::optional(static_cast<double>(*ago) * 1e-9) : std::nullopt},
        {shown(trouble.what)},
    };
    return row;
}

struct Counted {
    Metric metric;
    Level level;
    const char* what;
};
// What a GPU keeps in its own counters and flags; 0 is no trouble.
constexpr std::array<Counted, 9> kCounted{{
    {Metric::kRecoveryAction, Level::kError, "the driver asks for a recovery (action number)"},
    {Metric::kEccUncorrectedVolatile, Level::kError, "memory errors that could not be corrected"},
    {Metric::kRowRemapFailed, Level::kError, "no spare rows of memory are left: replace the board"},
    {Metric::kRowRemapPending, Level::kWarning, "rows of memory wait for a reset to be remapped"},
    {Metric::kRetiredPagesPending, Level::kWarning,
     "pages of memory wait for a reset to be retired"},
    {Metric::kRemappedRowsUncorrected, Level::kNote,
     "rows of memory remapped after uncorrectable errors"},
    {Metric::kNvlinkErrors, Level::kNote, "NVLink errors (CRC, replay, recovery)"},
    {Metric::kPcieReplays, Level::kNote, "PCIe replays"},
    {Metric::kEccCorrectedVolatile, Level::kNote, "memory errors that were corrected"},
}};

/// What a person says of a reason for throttling.
std::string throttle_text(const std::string& reason) {
    if (reason == "sw_power") return "slowed down by its power limit";
    if (reason == "hw_thermal") return "slowed down by heat (hardware)";
    if (reason == "sw_thermal") return "slowed down by heat (driver)";
    if (reason == "hw_power_brake")
        return "slowed down by the power brake: look at the power supply";
    return "slowed down: " + reason;
}

Level level_of(const std::string& reason) {
    return reason == "hw_thermal" || reason == "hw_power_brake" ? Level::kWarning : Level::kNote;
}

void add_health(std::vector<Trouble>& troubles, const Device& device) {
    if (!device.problem.empty())
        troubles.push_back({Level::kError, "does not answer: " + device.problem, std::nullopt,
                            device.read_at.value_or(telemetry::Moment{})});
    const gpu::Health& health = device.gpu.health;
    if (health.state == gpu::Health::State::kHealthy) return;
    std::string what = std::string(gpu::to_text(health.state)) + ": " + health.reason;
    if (!health.advice.empty()) what += "; " + health.advice;
    troubles.push_back(
        {health.ok() ? Level::kWarning : Level::kError, what, std::nullopt, health.since});
}

std::vector<Trouble> troubles_of(const Device& device) {
    std::vector<Trouble> troubles;
    add_health(troubles, device);
    for (const telemetry::XidCount& xid : device.xids) {
        if (xid.count == 0) continue;  // listed so that a counter of it exists
        troubles.push_back({Level::kWarning, gpu::xid_text(xid.xid), xid.count, xid.last});
    }
    for (const Counted& one : kCounted) {
        const auto value = device.metrics.get(one.metric);
        if (value && *value > 0)
            troubles.push_back({one.level, one.what, whole_number(*value), {}});
    }
    for (const auto& [reason, ns] : device.throttled_ns) {
        if (ns < 1'000'000'000) continue;
        troubles.push_back({level_of(reason),
                            throttle_text(reason) + " for " + duration_text(ns),
                            std::nullopt,
                            {}});
    }
    return troubles;
}

}  // namespace

std::string degraded_text(pods::Degraded degraded) {
    switch (degraded) {
        case pods::Degraded::kNoHostPid:
            return "processes cannot be told apart: the agent does not see the host's pids";
        case pods::Degraded::kNoPodIdentity:
            return "pods are known by their uid only";
        case pods::Degraded::kStaleHolders:
            return "kubelet has not reported recently which pods hold GPUs";
    }
    return std::string(pods::to_text(degraded));
}

namespace {

std::vector<Trouble> troubles_of(const Snapshot& node) {
    std::vector<Trouble> troubles;
    if (!node.driver_problem.empty())
        troubles.push_back({Level::kError, node.driver_problem, std::nullopt, {}});
    for (const pods::Degraded degraded : node.sampling.degraded)
        troubles.push_back({Level::kWarning, degraded_text(degraded), std::nullopt, {}});
    if (node.sampling.mps_server_only)
        troubles.push_back(
            {Level::kWarning, "the use of MPS clients cannot be told apart", std::nullopt, {}});
    if (node.sampling.mig_use_unknown)
        troubles.push_back(
            {Level::kNote, "a GPU does not tell how busy its MIG instances are", std::nullopt, {}});
    for (const auto& [call, count] : node.sampling.failed_calls)
        troubles.push_back({Level::kNote,
                            call.first + " fails with NVML code " + std::to_string(call.second),
                            count,
                            {}});
    return troubles;
}

}  // namespace

Table errors_table(const ClusterSnapshot& cluster) {
    Table table{.columns = errors_columns(), .empty = "nothing is wrong, and nothing has been"};
    for (const Agent& agent : cluster.agents) {
        const std::string name = agent.snapshot ? agent.snapshot->node : agent.address;
        if (!agent.problem.empty())
            table.rows.push_back(trouble_row(cluster, {.node = name}, "a/" + agent.address,
                                             {Level::kError, agent.problem, std::nullopt, {}}));
        if (!agent.snapshot) continue;
        for (const Trouble& trouble : troubles_of(*agent.snapshot))
            table.rows.push_back(
                trouble_row(cluster, {.node = name}, node_key(*agent.snapshot), trouble));
        for (const Device& device : agent.snapshot->devices) {
            for (const Trouble& trouble : troubles_of(device))
                table.rows.push_back(trouble_row(cluster, subject_of(*agent.snapshot, device),
                                                 gpu_key(device), trouble));
        }
    }
    return table;
}

}  // namespace aliquot::top
