// SPDX-License-Identifier: Apache-2.0
// What node agents measured, as facts: counters become parts of the time between two looks.
#include <algorithm>
#include <optional>
#include <utility>

#include "doctor/facts.h"
#include "doctor/text.h"
#include "telemetry/json.h"

namespace aliquot::doctor {
namespace {

using gpu::Metric;
using telemetry::Device;
using telemetry::Part;
using telemetry::Snapshot;
using telemetry::Tenant;

constexpr double kNanoseconds = 1e9;

/// Two looks at one node; the first may be missing.
struct Looks {
    std::optional<Snapshot> first;
    Snapshot last;
    double seconds = 0;
    std::string path;  // of the last one
};

double part_of(std::optional<std::uint64_t> ppm) {
    return static_cast<double>(ppm.value_or(0)) / static_cast<double>(telemetry::kMillion);
}

std::optional<double> part_if(std::optional<std::uint64_t> ppm) {
    if (!ppm) return std::nullopt;
    return part_of(ppm);
}

/// How much a counter grew; empty: it began again, or one of its values is missing.
std::optional<double> growth(std::optional<std::uint64_t> before,
                             std::optional<std::uint64_t> after) {
    if (!before || !after || *after < *before) return std::nullopt;
    return static_cast<double>(*after - *before);
}

template <class T>
std::optional<T> whole(const Device& device, Metric metric, std::uint64_t unit = 1) {
    const auto value = device.metrics.whole(metric);
    if (!value) return std::nullopt;
    return static_cast<T>(*value / unit);
}

std::optional<double> watts(const Device& device, Metric metric) {
    const auto value = device.metrics.amount(metric);
    if (!value) return std::nullopt;
    return *value / 1000;
}

void read_throttling(const Device& device, const Device* before, const Looks& looks, NvmlGpu& gpu) {
    if (before == nullptr || looks.seconds <= 0) return;
    for (const auto& [reason, ns] : device.throttled_ns) {
        const auto earlier = before->throttled_ns.find(reason);
        if (earlier == before->throttled_ns.end()) continue;
        const auto grown = growth(earlier->second, ns);
        if (!grown) continue;
        gpu.throttled_percent[reason] =
            std::min(100.0, 100 * *grown / kNanoseconds / looks.seconds);
    }
}

NvmlGpu gpu_of(const Device& device, const Device* before, const Looks& looks) {
    NvmlGpu gpu{.index = device.gpu.index,
                .uuid = device.gpu.uuid.text,
                .name = device.gpu.model,
                .address = gpu::to_text(device.gpu.pci)};
    gpu.place = {looks.path, 0, gpu.name + " " + gpu.uuid};
    if (!device.gpu.health.ok()) gpu.error_text = device.gpu.health.reason;
    if (!device.problem.empty()) gpu.error_text = device.problem;
    gpu.mig_current = device.gpu.mig_enabled ? "Enabled" : "Disabled";
    gpu.ecc_corrected = device.metrics.whole(Metric::kEccCorrectedVolatile);
    gpu.ecc_uncorrected = device.metrics.whole(Metric::kEccUncorrectedVolatile);
    if (const auto pending = device.metrics.get(Metric::kRowRemapPending)) {
        gpu.remap_pending = *pending != 0;
    }
    gpu.utilization = whole<unsigned>(device, Metric::kGpuBusyPercent);
    gpu.memory_used_mib = whole<unsigned>(device, Metric::kMemoryUsedBytes, 1U << 20U);
    gpu.memory_total_mib = whole<unsigned>(device, Metric::kMemoryTotalBytes, 1U << 20U);
    gpu.temperature = whole<unsigned>(device, Metric::kTemperatureCelsius);
    gpu.power_limit_w = watts(device, Metric::kEnforcedPowerLimitMilliwatts);
    if (!gpu.power_limit_w) gpu.power_limit_w = watts(device, Metric::kPowerLimitMilliwatts);
    gpu.power_default_w = watts(device, Metric::kDefaultPowerLimitMilliwatts);
    gpu.sm_clock_mhz = whole<unsigned>(device, Metric::kSmClockMhz);
    gpu.sm_clock_most_mhz = whole<unsigned>(device, Metric::kMaxSmClockMhz);
    if (const auto state = device.metrics.whole(Metric::kPerformanceState)) {
        gpu.performance_state = "P" + std::to_string(*state);
    }
    gpu.throttle_bits = device.metrics.whole(Metric::kClockEventReasons);
    read_throttling(device, before, looks, gpu);
    gpu.link_width = whole<unsigned>(device, Metric::kPcieWidth);
    gpu.link_width_most = whole<unsigned>(device, Metric::kMaxPcieWidth);
    gpu.link_generation = whole<unsigned>(device, Metric::kPcieGeneration);
    gpu.link_generation_most = whole<unsigned>(device, Metric::kMaxPcieGeneration);
    gpu.link_rx_bytes_per_s = device.metrics.amount(Metric::kPcieRxBytesPerSecond);
    gpu.link_tx_bytes_per_s = device.metrics.amount(Metric::kPcieTxBytesPerSecond);
    gpu.sm_active = device.metrics.amount(Metric::kSmActive);
    if (before != nullptr) {
        gpu.nvlink_errors = [&]() -> std::optional<std::uint64_t> {
            const auto grown = growth(before->metrics.whole(Metric::kNvlinkErrors),
                                      device.metrics.whole(Metric::kNvlinkErrors));
            if (!grown) return std::nullopt;
            return static_cast<std::uint64_t>(*grown);
        }();
    }
    return gpu;
}

const Device* device_of(const std::optional<Snapshot>& snapshot, const gpu::Uuid& uuid) {
    if (!snapshot) return nullptr;
    const auto found = std::ranges::find_if(
        snapshot->devices, [&](const Device& one) { return one.gpu.uuid == uuid; });
    return found == snapshot->devices.end() ? nullptr : &*found;
}

const Tenant* tenant_of(const Device* device, const Part& part, const Tenant& tenant) {
    if (device == nullptr) return nullptr;
    for (const Part& one : device->parts) {
        if (one.gpu_instance != part.gpu_instance) continue;
        for (const Tenant& other : one.tenants) {
            if (other.owner == tenant.owner && other.resource == tenant.resource) return &other;
        }
    }
    return nullptr;
}

/// CPU cores that the processes which ran at both looks have used.
std::optional<double> cores_of(const std::vector<telemetry::Process>& before,
                               const std::vector<telemetry::Process>& after, double seconds) {
    std::optional<double> ns;
    for (const telemetry::Process& one : after) {
        const auto earlier = std::ranges::find(before, one.pid, &telemetry::Process::pid);
        if (earlier == before.end()) continue;
        const auto grown = growth(earlier->cpu_ns, one.cpu_ns);
        if (grown) ns = ns.value_or(0) + *grown;
    }
    if (!ns || seconds <= 0) return std::nullopt;
    return *ns / kNanoseconds / seconds;
}

std::string part_name(const Device& device, const Part& part) {
    std::string name = "GPU " + std::to_string(device.gpu.index);
    if (!part.gpu_instance) return name;
    return name + ", MIG instance " + std::to_string(*part.gpu_instance) +
           (part.profile.empty() ? "" : " (" + part.profile + ")");
}

ShareUse share_of(const Device& device, const Part& part, const Tenant& tenant,
                  const Tenant* before, const Looks& looks) {
    ShareUse share{.container = tenant.owner.container,
                   .gpu = device.gpu.uuid.text,
                   .part = part_name(device, part),
                   .mechanism = device.layout.mechanism,
                   .entitlement = part_of(tenant.entitlement_ppm),
                   .used = part_if(tenant.amounts.utilization_ppm),
                   .memory_mib = tenant.amounts.memory_bytes.value_or(0) >> 20U};
    if (!tenant.owner.pod.empty()) {
        share.pod = tenant.owner.pod_namespace + "/" + tenant.owner.pod;
    } else if (!tenant.owner.pod_uid.empty()) {
        share.pod = tenant.owner.pod_uid;
    }
    if (tenant.memory_limit_bytes) share.memory_limit_mib = *tenant.memory_limit_bytes >> 20U;
    for (const telemetry::Process& one : tenant.processes) share.pids.push_back(one.pid);
    share.place = {looks.path, 0, share.pod + " " + share.container + " on " + share.part};
    if (before == nullptr || looks.seconds <= 0) return share;
    const auto waited = growth(before->throttled_ns, tenant.throttled_ns);
    if (waited) share.waited = std::min(1.0, *waited / kNanoseconds / looks.seconds);
    share.denied = growth(before->denied, tenant.denied);
    share.cores = cores_of(before->processes, tenant.processes, looks.seconds);
    // Over the looks, not only over the last sample.
    const auto busy = growth(before->amounts.busy_ns, tenant.amounts.busy_ns);
    if (busy) share.used = std::min(1.0, *busy / kNanoseconds / looks.seconds);
    return share;
}

/// Processes of no pod: of the host, or of containers that Kubernetes does not know.
void add_others(const Device& device, const Part& part, const Device* before, const Looks& looks,
                TelemetryFacts& told) {
    const Part* earlier = nullptr;
    for (std::size_t i = 0; before != nullptr && i < before->parts.size(); ++i) {
        if (before->parts[i].gpu_instance == part.gpu_instance) earlier = &before->parts[i];
    }
    for (const telemetry::Process& one : part.others) {
        ShareUse share{.container = one.command,
                       .gpu = device.gpu.uuid.text,
                       .part = part_name(device, part),
                       .mechanism = device.layout.mechanism,
                       .pids = {one.pid},
                       .used = part_if(one.utilization_ppm),
                       .memory_mib = one.memory_bytes.value_or(0) >> 20U};
        if (earlier != nullptr) share.cores = cores_of(earlier->others, {one}, looks.seconds);
        share.place = {looks.path, 0, "process " + std::to_string(one.pid) + " on " + share.part};
        told.shares.push_back(std::move(share));
    }
}

/// What NVML would list, with the pod beside it.
void add_processes(TelemetryFacts& told) {
    for (const ShareUse& share : told.shares) {
        if (share.pids.empty()) continue;
        NvmlProcess process{.gpu = share.gpu,
                            .pid = share.pids.front(),
                            .name = share.container,
                            .pod = share.pod,
                            .memory_mib = share.memory_mib,
                            .place = share.place};
        if (share.used) process.utilization = static_cast<unsigned>(*share.used * 100);
        told.measured.processes.push_back(std::move(process));
    }
}

/// What only NVML itself was asked for.
void add_nvml(const NvmlFacts& nvml, NvmlFacts& measured) {
    for (NvmlGpu& gpu : measured.gpus) {
        const auto known = std::ranges::find(nvml.gpus, gpu.uuid, &NvmlGpu::uuid);
        if (known == nvml.gpus.end()) continue;
        gpu.nvlinks_inactive = known->nvlinks_inactive;
        if (!gpu.power_default_w) gpu.power_default_w = known->power_default_w;
        if (!gpu.link_width) gpu.link_width = known->link_width;
        if (!gpu.link_width_most) gpu.link_width_most = known->link_width_most;
    }
}

void take(const Looks& looks, TelemetryFacts& told) {
    told.known = true;
    told.seconds = std::max(told.seconds, looks.seconds);
    told.measured.state = NvmlFacts::State::kOk;
    told.measured.driver = looks.last.driver_version;
    for (const Device& device : looks.last.devices) {
        const Device* const before = device_of(looks.first, device.gpu.uuid);
        told.measured.gpus.push_back(gpu_of(device, before, looks));
        for (const Part& part : device.parts) {
            for (const Tenant& tenant : part.tenants) {
                if (tenant.ended) continue;
                const Tenant* const earlier = tenant_of(before, part, tenant);
                told.shares.push_back(share_of(device, part, tenant, earlier, looks));
            }
            add_others(device, part, before, looks, told);
        }
    }
}

std::optional<Snapshot> snapshot_at(const Tree& tree, const std::string& path,
                                    std::string& problem) {
    const Entry* const entry = tree.find(path);
    if (entry == nullptr) return std::nullopt;
    if (entry->kind == Entry::Kind::kUnreadable) problem = entry->content;
    if (entry->kind != Entry::Kind::kFile) return std::nullopt;
    auto snapshot = telemetry::parse_state(entry->content);
    if (!snapshot) problem = path + ": " + snapshot.error().message;
    if (!snapshot) return std::nullopt;
    return *std::move(snapshot);
}

/// Whether the agent of this node may know of what is asked.
bool belongs(const Facts& facts, const std::string& node) {
    if (facts.target.kind == Target::Kind::kNode) return node == facts.target.name;
    if (facts.target.kind != Target::Kind::kPod) return true;
    const auto slash = std::min(facts.target.name.find('/'), facts.target.name.size());
    const Object* const pod =
        facts.cluster.find("Pod", facts.target.name.substr(0, slash),
                           facts.target.name.substr(std::min(slash + 1, facts.target.name.size())));
    return pod == nullptr || node_of(*pod).empty() || node_of(*pod) == node;
}

}  // namespace

void read_telemetry(Facts& facts) {
    TelemetryFacts& told = facts.telemetry;
    for (const std::string& path : facts.tree.paths("agent/*/state.json")) {
        const std::string folder = path.substr(0, path.rfind('/'));
        if (!belongs(facts, folder.substr(folder.rfind('/') + 1))) continue;
        std::string problem;
        auto first = snapshot_at(facts.tree, path, problem);
        auto later = snapshot_at(facts.tree, folder + "/state-later.json", problem);
        if (!problem.empty()) told.reason = problem;
        if (!first && !later) continue;
        Looks looks{.last = later ? *std::move(later) : *first,
                    .path = later ? folder + "/state-later.json" : path};
        if (first && looks.path != path) {
            looks.seconds = std::chrono::duration<double>(looks.last.at - first->at).count();
            if (looks.seconds > 0) looks.first = std::move(first);
        }
        take(looks, told);
    }
    add_processes(told);
    add_nvml(facts.nvml, told.measured);
    if (!told.known) told.measured = facts.nvml;
}

}  // namespace aliquot::doctor
