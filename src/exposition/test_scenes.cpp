// SPDX-License-Identifier: Apache-2.0
#include "exposition/test_scenes.h"

#include <algorithm>

namespace aliquot::exposition {
namespace {

using gpu::Metric;
using std::chrono::seconds;
using telemetry::Amounts;
using telemetry::Device;
using telemetry::Part;
using telemetry::Snapshot;
using telemetry::Source;
using telemetry::Tenant;

constexpr std::uint64_t kMiB = 1U << 20U;
constexpr std::uint64_t kGiB = 1U << 30U;
constexpr std::uint64_t kSecond = 1'000'000'000;
const telemetry::Moment kNow{seconds(1'790'000'000)};

Snapshot node(std::string driver = "580.65.06") {
    Snapshot made;
    made.at = kNow;
    made.sequence = 42;
    made.node = "gpu-node-1";
    made.driver_version = std::move(driver);
    made.cuda_version = 13000;
    made.sampling.looks = 100;
    made.sampling.look_ns = 12'500'000;
    made.sampling.last_good = kNow;
    return made;
}

Device device(unsigned index, std::string model, unsigned major, unsigned minor,
              std::uint64_t memory) {
    Device made;
    made.gpu.index = index;
    made.gpu.uuid.text = "GPU-8a6b3c1d-0000-4000-8000-00000000000" + std::to_string(index);
    made.gpu.minor = index;
    made.gpu.model = std::move(model);
    made.gpu.memory_bytes = memory;
    made.gpu.compute_major = major;
    made.gpu.compute_minor = minor;
    made.gpu.pci.bus = 0x3B + index;
    made.read_at = kNow;
    made.metrics.set(Metric::kMemoryTotalBytes, static_cast<double>(memory));
    made.metrics.set(Metric::kTemperatureCelsius, 54 + index);
    made.metrics.set(Metric::kSmClockMhz, 1410);
    made.metrics.set(Metric::kMemoryClockMhz, 6251);
    made.metrics.set(Metric::kMaxSmClockMhz, 1770);
    made.metrics.set(Metric::kMaxMemoryClockMhz, 6251);
    made.metrics.set(Metric::kFanPercent, 40);
    made.metrics.set(Metric::kPerformanceState, 0);
    made.metrics.set(Metric::kMemoryBusyPercent, 21);
    made.metrics.set(Metric::kEncoderPercent, 0);
    made.metrics.set(Metric::kDecoderPercent, 3);
    made.metrics.set(Metric::kPcieReplays, 2);
    made.metrics.set(Metric::kEnforcedPowerLimitMilliwatts, 150'000);
    made.metrics.set(Metric::kPowerLimitMilliwatts, 150'000);
    made.metrics.set(Metric::kClockEventReasons, 0x4);
    return made;
}

/// What only boards for data centres report.
void add_board_metrics(Device& made) {
    gpu::MetricValues& metrics = made.metrics;
    metrics.set(Metric::kMemoryReservedBytes, static_cast<double>(418 * kMiB));
    metrics.set(Metric::kMemoryTemperatureCelsius, 61);
    metrics.set(Metric::kSlowdownCelsius, 92);
    metrics.set(Metric::kShutdownCelsius, 95);
    metrics.set(Metric::kVideoClockMhz, 1275);
    metrics.set(Metric::kPowerInstantMilliwatts, 59'111);
    metrics.set(Metric::kBar1TotalBytes, static_cast<double>(16 * kGiB));
    metrics.set(Metric::kBar1UsedBytes, static_cast<double>(3 * kMiB));
    metrics.set(Metric::kEccCorrectedVolatile, 1);
    metrics.set(Metric::kEccUncorrectedVolatile, 0);
    metrics.set(Metric::kEccCorrectedAggregate, 4);
    metrics.set(Metric::kEccUncorrectedAggregate, 0);
    metrics.set(Metric::kRemappedRowsCorrected, 1);
    metrics.set(Metric::kRemappedRowsUncorrected, 0);
    metrics.set(Metric::kRowRemapPending, 0);
    metrics.set(Metric::kRowRemapFailed, 0);
    metrics.set(Metric::kThrottlePowerNs, 7e9);
    metrics.set(Metric::kThrottleThermalNs, 0);
    metrics.set(Metric::kThrottleSyncBoostNs, 0);
    metrics.set(Metric::kThrottleBoardLimitNs, 0);
    metrics.set(Metric::kThrottleLowUtilizationNs, 0);
    metrics.set(Metric::kThrottleReliabilityNs, 0);
    metrics.set(Metric::kRecoveryAction, 0);
    made.throttled_ns = {{"hw_thermal", 0}, {"sw_power", 7'250'000'000}};
    made.memory_busy_known = true;
    made.memory_busy_ns = 12'345'678'901;
}

void set_memory(gpu::MetricValues& metrics, std::uint64_t used, std::uint64_t total) {
    metrics.set(Metric::kMemoryTotalBytes, static_cast<double>(total));
    metrics.set(Metric::kMemoryUsedBytes, static_cast<double>(used));
    metrics.set(Metric::kMemoryFreeBytes, static_cast<double>(total - used));
}

Tenant tenant(std::string pod_namespace, std::string pod, std::string container, Source source) {
    Tenant made;
    const std::string ending = pod.substr(pod.size() - std::min<std::size_t>(12, pod.size()));
    made.owner.pod_uid = "3f2a0000-0000-4000-8000-" + std::string(12 - ending.size(), '0') + ending;
    made.owner.pod_namespace = std::move(pod_namespace);
    made.owner.pod = std::move(pod);
    made.owner.container = std::move(container);
    made.owner.container_id = std::string(64, 'c');
    made.resource = "nvidia.com/gpu";
    made.source = source;
    made.held_ns = 600 * kSecond;
    made.idle_held_ns = 60 * kSecond;
    made.idle_ns = 0;
    made.entitlement_ppm = telemetry::kMillion;
    return made;
}

void add(std::optional<std::uint64_t>& sum, const std::optional<std::uint64_t>& more) {
    if (more) sum = sum.value_or(0) + *more;
}

/// Totals are what the tenants and the remainder have.
void add_up(Device& device, Part& part) {
    part.total = part.remainder;
    for (const Tenant& one : part.tenants) {
        if (!one.ended) {
            add(part.total.memory_bytes, one.amounts.memory_bytes);
            add(part.total.utilization_ppm, one.amounts.utilization_ppm);
            add(part.total.power_milliwatts, one.amounts.power_milliwatts);
        }
        add(part.total.busy_ns, one.amounts.busy_ns);
        add(part.total.energy_millijoules, one.amounts.energy_millijoules);
    }
    if (part.gpu_instance) return;
    device.total = part.total;
    device.remainder = part.remainder;
    const auto memory = device.metrics.get(Metric::kMemoryTotalBytes);
    if (part.total.memory_bytes && memory) {
        set_memory(device.metrics, *part.total.memory_bytes, static_cast<std::uint64_t>(*memory));
    }
    if (part.total.power_milliwatts) {
        device.metrics.set(Metric::kPowerMilliwatts,
                           static_cast<double>(*part.total.power_milliwatts));
    }
    part.metrics = device.metrics;
}

}  // namespace

Snapshot exclusive_a2() {
    Snapshot made = node();
    Device a2 = device(0, "NVIDIA A2", 8, 6, 15356 * kMiB);
    add_board_metrics(a2);
    a2.layout.slots = {{"nvidia.com/gpu", 1}};
    a2.layout.allocated = {{"nvidia.com/gpu", 1}};
    a2.xids = {{13, 2, kNow - seconds(60)}};
    a2.last_xids = {{13, kNow - seconds(60), {}, {}}};
    Part part;
    Tenant one = tenant("vision", "trainer-0", "main", Source::kWhole);
    one.amounts = {7340 * kMiB + 12345, 873'200, 523'900'000'001, 58'912, 31'415'926};
    one.share_utilization_ppm = 873'200;
    one.memory_peak_bytes = 8000 * kMiB;
    one.processes = {{4711, "python3", 7340 * kMiB, 873'200, false, false}};
    part.tenants = {one};
    part.remainder = {0, 0, 0, 0, 1'000'000};
    add_up(a2, part);
    a2.parts = {part};
    made.devices = {a2};
    made.price_per_gpu_hour = 0.35;
    return made;
}

Snapshot time_sliced_four() {
    Snapshot made = node();
    Device a10g = device(0, "NVIDIA A10G", 8, 6, 23028 * kMiB);
    add_board_metrics(a10g);
    a10g.layout = {grant::Mechanism::kTimeSlicing,
                   {{"nvidia.com/gpu.shared", 4}},
                   {{"nvidia.com/gpu.shared", 4}},
                   4};
    Part part;
    for (unsigned pod = 0; pod < 4; ++pod) {
        Tenant one =
            tenant("team-a", "cat-watcher-" + std::to_string(pod), "main", Source::kDriver);
        one.resource = "nvidia.com/gpu.shared";
        one.entitlement_ppm = 250'000;
        one.amounts = {(1000 + pod) * kMiB + 700'000, 200'000 + pod * 1'111,
                       (100 + pod) * kSecond + pod, 30'000 + pod, 5'000'000 + pod};
        one.share_utilization_ppm = 4 * *one.amounts.utilization_ppm;
        one.processes = {{5000 + pod, "python3", {}, {}, false, false}};
        part.tenants.push_back(one);
    }
    Tenant& guarded = part.tenants[1];
    guarded.source = Source::kGuard;
    guarded.memory_limit_bytes = 5757 * kMiB;
    guarded.memory_peak_bytes = 1200 * kMiB;
    guarded.denied = 3;
    guarded.throttled_ns = 1'500'000'000;
    part.tenants[3].idle_ns = 90 * kSecond;
    part.others = {{77, "Xorg", 12 * kMiB, {}, true, false}};
    part.remainder = {12 * kMiB + 345, 5'000, 7 * kSecond, 28'000, 900'000'000};
    part.ended_busy_ns = 2 * kSecond;
    part.ended_energy_millijoules = 1'234;
    add_up(a10g, part);
    a10g.parts = {part};
    made.devices = {a10g};
    guard_region::RegionStatus region;
    region.id = "r1";
    region.pod_namespace = "team-a";
    region.pod = "cat-watcher-1";
    region.container = "main";
    guard_region::DeviceStatus status;
    status.uuid = a10g.gpu.uuid.text;
    status.limits.memory_bytes = 5757 * kMiB;
    status.limits.cap_ppm = 250'000;
    status.used_bytes = 1001 * kMiB;
    status.tracked_bytes = 700 * kMiB;
    status.overhead_bytes = 301 * kMiB;
    status.peak_bytes = 1200 * kMiB;
    status.denied = 3;
    status.gpu_ns = 101 * kSecond;
    status.throttled_ns = 1'500'000'000;
    status.processes = 1;
    status.driver_bytes = 1001 * kMiB;
    status.remarks = {"no_arbiter"};
    region.devices = {status};
    made.regions = std::make_shared<const std::vector<guard_region::RegionStatus>>(
        std::vector<guard_region::RegionStatus>{region});
    return made;
}

Snapshot mps_two() {
    Snapshot made = node("570.133.20");
    made.cuda_version = 12080;
    Device t4 = device(0, "Tesla T4", 7, 5, 15360 * kMiB);
    add_board_metrics(t4);
    t4.metrics.set(Metric::kRetiredPagesCorrected, 1);
    t4.metrics.set(Metric::kRetiredPagesUncorrected, 0);
    t4.metrics.set(Metric::kRetiredPagesPending, 0);
    t4.layout = {grant::Mechanism::kMps, {{"nvidia.com/gpu", 2}}, {{"nvidia.com/gpu", 2}}, 2};
    Part part;
    for (unsigned pod = 0; pod < 3; ++pod) {
        Tenant one = tenant("infer", "llm-" + std::to_string(pod), "server", Source::kDriver);
        one.entitlement_ppm = 500'000;
        one.memory_limit_bytes = 7680 * kMiB;
        one.amounts = {(2000 + pod) * kMiB, 300'000, (50 + pod) * kSecond, 25'000, 2'000'000};
        one.share_utilization_ppm = 600'000;
        one.processes = {{6000 + pod, "server", 2000 * kMiB, 300'000, false, true}};
        part.tenants.push_back(one);
    }
    part.tenants[2].ended = true;
    part.tenants[2].processes.clear();
    part.remainder = {300 * kMiB, 0, kSecond, 10'000, 5'000'000};
    add_up(t4, part);
    t4.parts = {part};
    made.devices = {t4};
    made.sampling.mps_server_only = true;
    return made;
}

namespace {

Part instance(Device& on, unsigned id, std::string profile, std::uint64_t memory) {
    Part part;
    part.gpu_instance = id;
    part.profile = profile;
    gpu::MigDevice mig;
    mig.uuid.text = "MIG-5c8e0000-0000-4000-8000-00000000000" + std::to_string(id);
    mig.index = static_cast<unsigned>(on.gpu.mig_devices.size());
    mig.profile = std::move(profile);
    mig.gpu_instance = id;
    mig.memory_bytes = memory;
    part.mig_devices = {mig.uuid};
    on.gpu.mig_devices.push_back(mig);
    part.remainder.memory_bytes = 30 * kMiB;
    set_memory(part.metrics, 0, memory);
    return part;
}

void finish(Device& on, Part& part, bool tells_use) {
    add_up(on, part);
    part.total.power_milliwatts.reset();
    part.total.energy_millijoules.reset();
    const auto total = part.metrics.get(Metric::kMemoryTotalBytes);
    set_memory(part.metrics, part.total.memory_bytes.value_or(0),
               static_cast<std::uint64_t>(total.value_or(0)));
    if (!tells_use) return;
    part.metrics.set(Metric::kGraphicsActive,
                     static_cast<double>(part.total.utilization_ppm.value_or(0)) / 1e6);
    part.metrics.set(Metric::kSmActive, 0.6251234);
    part.metrics.set(Metric::kSmOccupancy, 0.25);
    part.metrics.set(Metric::kTensorActive, 0.125);
    part.metrics.set(Metric::kMemoryBandwidthActive, 0.5);
    part.metrics.set(Metric::kFp64Active, 0);
    part.metrics.set(Metric::kFp32Active, 0.01);
    part.metrics.set(Metric::kFp16Active, 0.02);
    part.metrics.set(Metric::kContextSwitchActive, 0.001);
}

void finish_cut(Device& on) {
    on.gpu.mig_capable = true;
    on.gpu.mig_enabled = true;
    on.layout.mechanism = grant::Mechanism::kMig;
    on.total = {40 * kMiB, {}, {}, 210'000, 987'654'321};
    on.remainder = {40 * kMiB, {}, {}, 0, 0};
    std::uint64_t tenants_power = 0;
    std::uint64_t tenants_energy = 0;
    for (const Part& part : on.parts) {
        *on.total.memory_bytes += *part.total.memory_bytes;
        for (const Tenant& one : part.tenants) {
            tenants_power += one.amounts.power_milliwatts.value_or(0);
            tenants_energy += one.amounts.energy_millijoules.value_or(0);
        }
    }
    on.remainder.power_milliwatts = *on.total.power_milliwatts - tenants_power;
    on.remainder.energy_millijoules = *on.total.energy_millijoules - tenants_energy;
    const auto memory = on.metrics.get(Metric::kMemoryTotalBytes);
    set_memory(on.metrics, *on.total.memory_bytes, static_cast<std::uint64_t>(*memory));
    on.metrics.set(Metric::kPowerMilliwatts, 210'000);
}

}  // namespace

Snapshot mig_h100() {
    Snapshot made = node();
    Device h100 = device(0, "NVIDIA H100 80GB HBM3", 9, 0, 81559 * kMiB);
    add_board_metrics(h100);
    h100.metrics.set(Metric::kNvlinkTxBytes, 5e12);
    h100.metrics.set(Metric::kNvlinkRxBytes, 4e12);
    h100.metrics.set(Metric::kNvlinkErrors, 0);
    h100.layout.slots = {{"nvidia.com/mig-1g.10gb", 3}};
    h100.layout.allocated = {{"nvidia.com/mig-1g.10gb", 2}};
    for (unsigned id = 7; id < 10; ++id) {
        Part part = instance(h100, id, "1g.10gb", 9728 * kMiB);
        part.remainder.utilization_ppm = 0;
        part.remainder.busy_ns = kSecond;
        const unsigned pods = id == 7 ? 1 : id == 8 ? 2 : 0;
        for (unsigned pod = 0; pod < pods; ++pod) {
            Tenant one = tenant("notebooks", "jupyter-" + std::to_string(id) + std::to_string(pod),
                                "lab", pods == 1 ? Source::kWhole : Source::kDriver);
            one.resource = "nvidia.com/mig-1g.10gb";
            one.entitlement_ppm = telemetry::kMillion / pods;
            one.amounts = {1234 * kMiB, 400'000, 77 * kSecond, 30'000, 1'000'000};
            one.processes = {{7000 + id * 10 + pod, "python3", 1234 * kMiB, {}, false, false}};
            part.tenants.push_back(one);
        }
        finish(h100, part, true);
        h100.parts.push_back(part);
    }
    finish_cut(h100);
    made.devices = {h100};
    return made;
}

Snapshot mig_a100() {
    Snapshot made = node();
    Device a100 = device(0, "NVIDIA A100-SXM4-40GB", 8, 0, 40960 * kMiB);
    add_board_metrics(a100);
    a100.layout.slots = {{"nvidia.com/mig-3g.20gb", 2}};
    a100.layout.allocated = {{"nvidia.com/mig-3g.20gb", 1}};
    for (unsigned id = 1; id < 3; ++id) {
        Part part = instance(a100, id, "3g.20gb", 19968 * kMiB);
        if (id == 1) {
            Tenant one = tenant("batch", "sim-1", "solver", Source::kWhole);
            one.resource = "nvidia.com/mig-3g.20gb";
            one.amounts = {9000 * kMiB, {}, {}, {}, {}};
            one.idle_held_ns.reset();
            one.idle_ns.reset();
            part.tenants = {one};
        }
        finish(a100, part, false);
        a100.parts.push_back(part);
    }
    finish_cut(a100);
    made.devices = {a100};
    made.sampling.mig_use_unknown = true;
    return made;
}

Snapshot driver_lost() {
    Snapshot made = exclusive_a2();
    Device lost = device(1, "NVIDIA A2", 8, 6, 15356 * kMiB);
    lost.layout.slots = {{"nvidia.com/gpu", 1}};
    lost.read_at = kNow - seconds(95);
    lost.problem = "the GPU is lost";
    lost.gpu.health = {gpu::Health::State::kUnhealthy, "Xid 79: GPU has fallen off the \"bus\"\n",
                       "restart the machine", kNow - seconds(95)};
    lost.xids = {{79, 1, kNow - seconds(95)}};
    lost.last_xids = {{79, kNow - seconds(95), {}, {}}};
    Part part;
    Tenant one = tenant("vision", "trainer-1", "main", Source::kWhole);
    one.amounts = {100 * kMiB, 0, 55 * kSecond, 9'000, 4'000};
    part.tenants = {one};
    part.remainder = {0, 0, 0, 0, 0};
    add_up(lost, part);
    lost.parts = {part};
    made.devices.push_back(lost);
    made.sampling.failed_looks = 95;
    made.sampling.failed_calls = {{{"nvmlDeviceGetMemoryInfo_v2", 15}, 95}};
    return made;
}

Snapshot degraded() {
    Snapshot made = time_sliced_four();
    made.sampling.degraded = {pods::Degraded::kNoHostPid, pods::Degraded::kNoPodIdentity,
                              pods::Degraded::kStaleHolders};
    Part& part = made.devices[0].parts[0];
    for (Tenant& one : part.tenants) {
        one.owner.pod_namespace.clear();
        one.owner.pod.clear();
        one.owner.container.clear();
    }
    part.tenants[2].owner = {};                     // nothing is known of it
    part.tenants[3].owner = part.tenants[1].owner;  // two entries of one container
    part.tenants[3].resource = "nvidia.com/gpu.other";
    part.tenants[0].amounts = {};  // known by what it holds only
    part.tenants[0].share_utilization_ppm.reset();
    part.tenants[0].source = Source::kNone;
    add_up(made.devices[0], part);
    made.regions.reset();
    return made;
}

Snapshot gtx_1070() {
    Snapshot made = node("535.183.01");
    made.cuda_version = 12020;
    Device gtx = device(0, "NVIDIA GeForce GTX 1070", 6, 1, 8192 * kMiB);
    gtx.layout.slots = {{"nvidia.com/gpu", 1}};
    Part part;
    part.remainder = {512 * kMiB + 1, 110'000, 9 * kSecond, 36'250, {}};
    add_up(gtx, part);
    part.others = {{900, "Xorg", 512 * kMiB, {}, true, false}};
    gtx.parts = {part};
    made.devices = {gtx};
    return made;
}

Snapshot crowd(unsigned gpus, unsigned pods_each) {
    Snapshot made = node();
    std::vector<guard_region::RegionStatus> regions;
    for (unsigned index = 0; index < gpus; ++index) {
        Device one = time_sliced_four().devices[0];
        one.gpu.index = index;
        one.gpu.minor = index;
        one.gpu.model = "NVIDIA H100 80GB HBM3";
        one.gpu.uuid.text.back() = static_cast<char>('0' + index % 10);
        one.layout.replicas = pods_each;
        for (const Metric metric :
             {Metric::kGraphicsActive, Metric::kSmActive, Metric::kSmOccupancy,
              Metric::kTensorActive, Metric::kMemoryBandwidthActive, Metric::kPcieTxBytesPerSecond,
              Metric::kPcieRxBytesPerSecond, Metric::kNvlinkTxBytes, Metric::kNvlinkRxBytes}) {
            one.metrics.set(metric, 0.123456);
        }
        Part& part = one.parts[0];
        const Tenant example = part.tenants[0];
        part.tenants.clear();
        for (unsigned pod = 0; pod < pods_each; ++pod) {
            Tenant added = example;
            added.owner.pod =
                "inference-server-7d9f8b6c5-" + std::to_string(index) + "x" + std::to_string(pod);
            added.owner.pod_namespace = "team-vision";
            part.tenants.push_back(added);
        }
        add_up(one, part);
        made.devices.push_back(one);
    }
    return made;
}

std::vector<NamedScene> scenes() {
    return {{"exclusive_a2", exclusive_a2}, {"time_sliced_four", time_sliced_four},
            {"mps_two", mps_two},           {"mig_h100", mig_h100},
            {"mig_a100", mig_a100},         {"driver_lost", driver_lost},
            {"degraded", degraded},         {"gtx_1070", gtx_1070}};
}

}  // namespace aliquot::exposition
