// SPDX-License-Identifier: Apache-2.0
#include "top/test_world.h"

namespace aliquot::top {
namespace {

using gpu::Metric;
using telemetry::Device;
using telemetry::kMillion;
using telemetry::Moment;
using telemetry::Part;
using telemetry::Snapshot;
using telemetry::Tenant;

const Moment kNow{std::chrono::seconds{1'763'733'785}};  // 2025-11-21 14:03:05

Device device(unsigned index, const char* uuid, const char* model, std::uint64_t gib) {
    Device made;
    made.gpu.index = index;
    made.gpu.uuid.text = uuid;
    made.gpu.model = model;
    made.gpu.memory_bytes = gib * kGiB;
    made.read_at = kNow;
    made.metrics.set(Metric::kMemoryTotalBytes, static_cast<double>(gib * kGiB));
    made.metrics.set(Metric::kTemperatureCelsius, 54 + index);
    made.metrics.set(Metric::kSlowdownCelsius, 90);
    made.metrics.set(Metric::kEnforcedPowerLimitMilliwatts, 60'000);
    made.metrics.set(Metric::kSmClockMhz, 1755);
    return made;
}

telemetry::Process process(std::uint32_t pid, const char* command, std::uint64_t mib,
                           std::uint64_t ppm) {
    return {.pid = pid, .command = command, .memory_bytes = mib << 20U, .utilization_ppm = ppm};
}

Device sliced() {
    Device gpu = device(0, "GPU-aaaa0000-1111-2222-3333-444455556666", "NVIDIA A2", 15);
    gpu.layout = {.mechanism = grant::Mechanism::kTimeSlicing,
                  .slots = {{"nvidia.com/gpu.shared", 4}},
                  .allocated = {{"nvidia.com/gpu.shared", 3}},
                  .replicas = 4};
    gpu.total = {.memory_bytes = 9 * kGiB,
                 .utilization_ppm = 720'000,
                 .busy_ns = 7200 * kSecondNs,
                 .power_milliwatts = 48'600,
                 .energy_millijoules = 350'000'000};
    Tenant first = tenant("team-a", "cat-watcher-7d9c5b6f4-x2x9q", 250'000, 430'000);
    first.processes = {process(4711, "python3", 3900, 430'000)};
    first.memory_limit_bytes = 4 * kGiB;
    first.amounts.memory_bytes = 3900ULL << 20U;
    first.memory_peak_bytes = 4 * kGiB;
    first.denied = 3;
    first.throttled_ns = 2160 * kSecondNs;
    Tenant second = tenant("team-b", "vision-svc-0", 250'000, 280'000);
    second.processes = {process(4822, "tritonserver", 2500, 280'000)};
    second.amounts.memory_bytes = 2500ULL << 20U;
    Tenant third = tenant("team-b", "notebook-anna", 250'000, 0);
    third.processes = {process(4900, "jupyter-lab", 1200, 0)};
    third.amounts.memory_bytes = 1200ULL << 20U;
    third.idle_ns = 7500 * kSecondNs;
    third.idle_held_ns = 7500 * kSecondNs;
    third.held_ns = 9000 * kSecondNs;
    Part part;
    part.total = gpu.total;
    part.tenants = {first, third, second};
    part.remainder = {.memory_bytes = 1616ULL << 20U,
                      .utilization_ppm = 10'000,
                      .busy_ns = 100 * kSecondNs,
                      .power_milliwatts = 9'100};
    part.others = {process(812, "Xorg\x1b[2J", 60, 10'000)};
    gpu.remainder = part.remainder;
    gpu.parts = {part};
    return gpu;
}

Device cut() {
    Device gpu = device(1, "GPU-bbbb0000-1111-2222-3333-444455556666", "NVIDIA H100 80GB HBM3", 80);
    gpu.gpu.mig_capable = gpu.gpu.mig_enabled = true;
    gpu.layout = {.mechanism = grant::Mechanism::kMig,
                  .slots = {{"nvidia.com/mig-1g.10gb", 1}, {"nvidia.com/mig-3g.40gb", 1}},
                  .allocated = {{"nvidia.com/mig-1g.10gb", 1}, {"nvidia.com/mig-3g.40gb", 1}}};
    gpu.total = {.memory_bytes = 30 * kGiB, .power_milliwatts = 310'000};
    Part small{.gpu_instance = 9, .profile = "1g.10gb"};
    small.metrics.set(Metric::kMemoryTotalBytes, static_cast<double>(10 * kGiB));
    small.total = {.memory_bytes = 8 * kGiB, .utilization_ppm = 900'000};
    Tenant one = tenant("team-a", "embed-5f6d7-abcde", kMillion, 900'000);
    one.resource = "nvidia.com/mig-1g.10gb";
    one.source = telemetry::Source::kWhole;
    one.memory_limit_bytes = 10 * kGiB;
    one.amounts.memory_bytes = 8 * kGiB;
    one.processes = {process(5010, "python", 8192, 900'000)};
    small.tenants = {one};
    Part large{.gpu_instance = 2, .profile = "3g.40gb"};
    large.metrics.set(Metric::kMemoryTotalBytes, static_cast<double>(40 * kGiB));
    large.total = {.memory_bytes = 22 * kGiB, .utilization_ppm = 400'000};
    Tenant two = tenant("ml", "train-llm-worker-0", kMillion, 400'000);
    two.resource = "nvidia.com/mig-3g.40gb";
    two.source = telemetry::Source::kWhole;
    two.memory_limit_bytes = 40 * kGiB;
    two.amounts.memory_bytes = 22 * kGiB;
    large.tenants = {two};
    gpu.parts = {large, small};
    return gpu;
}

Device lost() {
    Device gpu = device(1, "GPU-dddd0000-1111-2222-3333-444455556666", "Tesla V100-SXM2-16GB", 16);
    gpu.gpu.health = {.state = gpu::Health::State::kUnhealthy,
                      .reason = "Xid 79: GPU has fallen off the bus",
                      .advice = "restart the machine",
                      .since = kNow - std::chrono::minutes{20}};
    gpu.problem = "GPU is lost (NVML error 15)";
    gpu.read_at = kNow - std::chrono::minutes{20};
    gpu.layout.slots = {{"nvidia.com/gpu", 1}};
    gpu.xids = {{.xid = 48, .count = 0},
                {.xid = 79, .count = 1, .last = kNow - std::chrono::minutes{20}}};
    gpu.metrics.set(Metric::kEccUncorrectedVolatile, 2);
    gpu.throttled_ns = {{"hw_thermal", 95 * kSecondNs}, {"sw_power", 40 * kSecondNs}};
    gpu.parts = {Part{}};
    return gpu;
}

}  // namespace

Tenant tenant(const std::string& pod_namespace, const std::string& pod, std::uint64_t share_ppm,
              std::uint64_t busy_ppm) {
    Tenant made;
    made.owner = {.pod_uid = "uid-of-" + pod,
                  .pod_namespace = pod_namespace,
                  .pod = pod,
                  .container = "main"};
    made.resource = "nvidia.com/gpu.shared";
    made.ids = {"one"};
    made.source = telemetry::Source::kDriver;
    made.entitlement_ppm = share_ppm;
    made.amounts = {.memory_bytes = kGiB,
                    .utilization_ppm = busy_ppm,
                    .busy_ns = busy_ppm * 3600,
                    .power_milliwatts = 5'000 + busy_ppm / 20};
    made.share_utilization_ppm = share_ppm == 0 ? 0 : busy_ppm * kMillion / share_ppm;
    made.held_ns = 3600 * kSecondNs;
    made.idle_held_ns = 0;
    made.idle_ns = 0;
    return made;
}

Snapshot shared_node() {
    Snapshot node;
    node.at = kNow;
    node.sequence = 1;
    node.node = "gpu-node-1";
    node.driver_version = "580.65.06";
    node.cuda_version = 13'000;
    node.price_per_gpu_hour = 2.5;
    node.devices = {sliced(), cut()};
    return node;
}

Snapshot troubled_node() {
    Snapshot node;
    node.at = kNow;
    node.sequence = 1;
    node.node = "gpu-node-2";
    node.driver_version = "470.256.02";
    Device whole =
        device(0, "GPU-cccc0000-1111-2222-3333-444455556666", "Tesla V100-SXM2-16GB", 16);
    whole.layout.slots = whole.layout.allocated = {{"nvidia.com/gpu", 1}};
    whole.total = {.memory_bytes = 12 * kGiB,
                   .utilization_ppm = 970'000,
                   .busy_ns = 9700 * kSecondNs,
                   .power_milliwatts = 245'000};
    Tenant all = tenant("team-c", "bert-finetune", kMillion, 970'000);
    all.resource = "nvidia.com/gpu";
    all.source = telemetry::Source::kWhole;
    all.amounts.memory_bytes = 12 * kGiB;
    all.memory_limit_bytes = 16 * kGiB;
    Part part;
    part.total = whole.total;
    part.tenants = {all};
    whole.parts = {part};
    node.devices = {whole, lost()};
    node.sampling.degraded = {pods::Degraded::kStaleHolders};
    return node;
}

ClusterSnapshot one_node() {
    ClusterSnapshot cluster{.now = kNow};
    cluster.agents = {{.address = "unix:/run/aliquot/agent.sock",
                       .snapshot = std::make_shared<const Snapshot>(shared_node())}};
    return cluster;
}

ClusterSnapshot three_nodes() {
    ClusterSnapshot cluster{.now = kNow};
    cluster.agents = {
        {.address = "10.0.0.1:9400", .snapshot = std::make_shared<const Snapshot>(shared_node())},
        {.address = "10.0.0.2:9400", .snapshot = std::make_shared<const Snapshot>(troubled_node())},
        {.address = "10.0.0.3:9400", .problem = "no answer within 3 s"}};
    return cluster;
}

}  // namespace aliquot::top
