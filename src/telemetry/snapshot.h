// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/health.h"
#include "gpu/inventory.h"
#include "gpu/meters.h"
#include "grant/mechanism.h"
#include "guard_region/status.h"
#include "pods/census.h"

/// Who really uses which GPU, at one moment.
///
/// Additive amounts are whole numbers, so that sums are exact: for every part and every amount,
/// the tenants' and the remainder's add up to the total. What is not known is absent, never 0.
namespace aliquot::telemetry {

using gpu::Moment;
using gpu::XidCount;

inline constexpr std::uint64_t kMillion = 1'000'000;  // parts per million that are all of something

/// What can be divided between tenants. Counters start at 0 with the agent, but for the energy of a
/// whole GPU, which is the driver's own count.
struct Amounts {
    std::optional<std::uint64_t> memory_bytes;        // used now
    std::optional<std::uint64_t> utilization_ppm;     // of the GPU's (or instance's) time, lately
    std::optional<std::uint64_t> busy_ns;             // counter: GPU time used
    std::optional<std::uint64_t> power_milliwatts;    // now
    std::optional<std::uint64_t> energy_millijoules;  // counter
    friend bool operator==(const Amounts&, const Amounts&) = default;
};

/// A process on a part of a GPU.
struct Process {
    std::uint32_t pid = 0;
    std::string command;  // empty: not known
    std::optional<std::uint64_t> memory_bytes;
    std::optional<std::uint64_t> utilization_ppm;  // of the part
    std::optional<std::uint64_t> cpu_ns;           // counter: time of CPU cores since it began
    bool graphics = false;
    bool mps_client = false;
};

/// How a tenant's metrics were found.
enum class Source : std::uint8_t {
    kWhole,   // it holds the part alone: all of it is its own
    kGuard,   // its guard has counted
    kDriver,  // the driver's metrics of its processes
    kNone,    // nothing of its use is known
};
/// "whole", "guard", "driver", "none".
std::string_view to_text(Source source);

/// A container that holds a share of a part, or runs processes there.
struct Tenant {
    pods::Owner owner;
    std::string resource;  // "nvidia.com/gpu.shared"; empty: it holds nothing, it only runs there
    std::vector<std::string> ids;  // what it holds of this part, as the plugin named it
    Source source = Source::kNone;
    /// What it may use of the part when all want it: 1 / replicas for each id, or what its limits
    /// say. 0: it holds nothing.
    std::uint64_t entitlement_ppm = 0;
    Amounts amounts;
    std::optional<std::uint64_t> share_utilization_ppm;  // of its entitlement; may exceed kMillion
    std::optional<std::uint64_t> memory_limit_bytes;
    std::optional<std::uint64_t> memory_peak_bytes;  // since it came
    std::optional<std::uint64_t> denied;             // counter: requests for memory above the limit
    std::optional<std::uint64_t> throttled_ns;       // counter: waited because of its limit
    std::uint64_t held_ns = 0;                       // counter: since we know of it
    std::optional<std::uint64_t> idle_held_ns;       // counter: of that, without using it
    std::optional<std::uint64_t> idle_ns;  // since it was last seen busy (or since it came)
    std::vector<Process> processes;        // by pid
    bool ended = false;  // it is gone; its counters stay for a while, so that nothing is lost
};

/// A GPU that is not cut, or one GPU instance of MIG.
struct Part {
    std::optional<unsigned> gpu_instance;  // MIG
    std::string profile;                   // "1g.10gb"
    std::vector<gpu::Uuid> mig_devices;
    gpu::MetricValues metrics;  // of an instance its own; of an uncut GPU the GPU's
    Amounts total;
    std::vector<Tenant> tenants;  // by namespace, pod, container, resource
    Amounts remainder;            // what is nobody's, or of somebody unknown
    /// Of the remainder's counters: of tenants that are not listed any more.
    std::uint64_t ended_busy_ns = 0;
    std::uint64_t ended_energy_millijoules = 0;
    std::vector<Process> others;  // processes of no tenant
};

/// How a GPU is offered.
struct Layout {
    grant::Mechanism mechanism = grant::Mechanism::kNone;
    std::map<std::string, unsigned> slots;      // resource -> devices offered (replicas counted)
    std::map<std::string, unsigned> allocated;  // of those, held by containers
    unsigned replicas = 1;                      // of the GPU or of each of its MIG devices
};

struct Device {
    gpu::Gpu gpu;  // facts and health
    Layout layout;
    /// When the metrics were read; empty: never. They are older than the snapshot when the GPU does
    /// not answer: then `problem` says why.
    std::optional<Moment> read_at;
    std::string problem;
    gpu::MetricValues metrics;  // of the whole GPU
    /// Of the whole GPU. Under MIG busy_ns and utilization_ppm are absent (no driver tells them)
    /// and power and energy have tenants in all parts.
    Amounts total;
    Amounts remainder;
    std::vector<Part> parts;           // one when it is not cut; by gpu_instance
    std::uint64_t memory_busy_ns = 0;  // counter; the memory interface
    bool memory_busy_known = false;
    std::map<std::string, std::uint64_t>
        throttled_ns;                     // counters by reason: "sw_power", "hw_thermal", ...
    std::vector<XidCount> xids;           // those seen, by number
    std::vector<gpu::SeenXid> last_xids;  // newest last
};

/// How well we see.
struct SamplingStatus {
    std::vector<pods::Degraded> degraded;
    bool mps_server_only = false;  // an MPS server's use cannot be told by client
    bool mig_use_unknown = false;  // a GPU in MIG mode that does not tell its instances' use
    std::uint64_t looks = 0;       // counter
    std::uint64_t failed_looks = 0;
    std::uint64_t look_ns = 0;  // how long the last one took
    std::optional<Moment> last_good;
    std::map<std::pair<std::string, int>, std::uint64_t>
        failed_calls;  // (call, NVML code) -> count
};

struct Snapshot {
    Moment at;
    std::uint64_t sequence = 0;
    std::string node;  // NODE_NAME, else the host's name
    std::string driver_version;
    int cuda_version = 0;         // 13000
    std::string driver_problem;   // why the driver as a whole does not answer
    std::vector<Device> devices;  // by the driver's index
    std::optional<double> price_per_gpu_hour;
    SamplingStatus sampling;
    std::shared_ptr<const std::vector<guard_region::RegionStatus>> regions;  // guards; may be null
};

}  // namespace aliquot::telemetry
