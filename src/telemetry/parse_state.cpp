// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "base/json_value.h"
#include "base/number.h"
#include "base/text.h"
#include "telemetry/json.h"
#include "telemetry/metric_names.h"

namespace aliquot::telemetry {
namespace {

using ParsedJson = nlohmann::json;

constexpr std::size_t kMostBytes = 16U << 20U;
constexpr std::int64_t kMostUnixMs = 253'402'300'799'000;  // the end of the year 9999

const ParsedJson* find(const ParsedJson& json, const char* name) {
    if (!json.is_object()) return nullptr;
    const auto found = json.find(name);
    return found == json.end() || found->is_null() ? nullptr : &*found;
}

/// Reads a state; notes the first value that is not what it should be.
class StateReader {
public:
    Result<Snapshot> read(const ParsedJson& json) {
        Snapshot snapshot = snapshot_in(json);
        if (problem_.empty()) return snapshot;
        return Error{ErrorCode::kInvalidInput, "the agent's state: " + problem_};
    }

private:
    void note(const std::string& name, const std::string& expected) {
        if (problem_.empty()) problem_ = name + " is not " + expected;
    }

    std::uint64_t number_of(const ParsedJson& value, const char* name) {
        if (value.is_number_unsigned()) return value.get<std::uint64_t>();
        note(name, "a whole number of 0 or more");
        return 0;
    }

    std::uint64_t number(const ParsedJson& json, const char* name) {
        const ParsedJson* const value = find(json, name);
        return value == nullptr ? 0 : number_of(*value, name);
    }
    std::optional<std::uint64_t> maybe_number(const ParsedJson& json, const char* name) {
        const ParsedJson* const value = find(json, name);
        if (value == nullptr) return std::nullopt;
        return number_of(*value, name);
    }
    unsigned small_number(const ParsedJson& json, const char* name) {
        const std::uint64_t value = number(json, name);
        if (value > 0xffff'ffffU) note(name, "a number below 2^32");
        return static_cast<unsigned>(value);
    }

    std::string text(const ParsedJson& json, const char* name) {
        const ParsedJson* const value = find(json, name);
        if (value == nullptr) return {};
        if (value->is_string()) return value->get<std::string>();
        note(name, "a text");
        return {};
    }

    bool flag(const ParsedJson& json, const char* name) {
        const ParsedJson* const value = find(json, name);
        if (value == nullptr) return false;
        if (value->is_boolean()) return value->get<bool>();
        note(name, "true or false");
        return false;
    }

    const ParsedJson& list(const ParsedJson& json, const char* name) {
        static const ParsedJson kEmpty = ParsedJson::array();
        const ParsedJson* const value = find(json, name);
        if (value == nullptr || value->is_array()) return value == nullptr ? kEmpty : *value;
        note(name, "a list");
        return kEmpty;
    }

    const ParsedJson& object(const ParsedJson& json, const char* name) {
        static const ParsedJson kEmpty = ParsedJson::object();
        const ParsedJson* const value = find(json, name);
        if (value == nullptr || value->is_object()) return value == nullptr ? kEmpty : *value;
        note(name, "an object");
        return kEmpty;
    }

    std::optional<Moment> moment(const ParsedJson& json, const char* name) {
        const auto ms = maybe_number(json, name);
        if (!ms) return std::nullopt;
        if (*ms > static_cast<std::uint64_t>(kMostUnixMs)) {
            note(name, "a time before the year 10000");
            return std::nullopt;
        }
        return Moment(std::chrono::milliseconds(*ms));
    }

    std::map<std::string, std::uint64_t> numbers(const ParsedJson& json, const char* name) {
        std::map<std::string, std::uint64_t> values;
        for (const auto& [key, value] : object(json, name).items()) {
            values[key] = number_of(value, name);
        }
        return values;
    }

    gpu::MetricValues metrics_in(const ParsedJson& json) {
        gpu::MetricValues metrics;
        for (const auto& [name, value] : object(json, "figures").items()) {
            const auto metric = metric_named(name);
            if (!value.is_number()) {
                note("figures." + name, "a number");
            } else if (metric) {
                metrics.set(*metric, value.get<double>());
            }
        }
        return metrics;
    }

    Amounts amounts_in(const ParsedJson& json, const char* name) {
        const ParsedJson& of = object(json, name);
        return {.memory_bytes = maybe_number(of, "memoryBytes"),
                .utilization_ppm = maybe_number(of, "utilizationPpm"),
                .busy_ns = maybe_number(of, "busyNs"),
                .power_milliwatts = maybe_number(of, "powerMilliwatts"),
                .energy_millijoules = maybe_number(of, "energyMillijoules")};
    }

    std::vector<Process> processes_in(const ParsedJson& json, const char* name) {
        std::vector<Process> processes;
        for (const ParsedJson& one : list(json, name)) {
            processes.push_back({.pid = small_number(one, "pid"),
                                 .command = text(one, "command"),
                                 .memory_bytes = maybe_number(one, "memoryBytes"),
                                 .utilization_ppm = maybe_number(one, "utilizationPpm"),
                                 .cpu_ns = maybe_number(one, "cpuNs"),
                                 .graphics = flag(one, "graphics"),
                                 .mps_client = flag(one, "mpsClient")});
        }
        return processes;
    }

    Source source_in(const ParsedJson& json) {
        const std::string name = text(json, "source");
        for (const Source one : {Source::kWhole, Source::kGuard, Source::kDriver}) {
            if (name == to_text(one)) return one;
        }
        return Source::kNone;  // of a newer version
    }

    Tenant tenant_in(const ParsedJson& json) {
        Tenant tenant{.owner = {.pod_uid = text(json, "podUid"),
                                .pod_namespace = text(json, "namespace"),
                                .pod = text(json, "pod"),
                                .container = text(json, "container"),
                                .container_id = text(json, "containerId")},
                      .resource = text(json, "resource"),
                      .source = source_in(json),
                      .entitlement_ppm = number(json, "entitlementPpm"),
                      .amounts = amounts_in(json, "amounts"),
                      .share_utilization_ppm = maybe_number(json, "shareUtilizationPpm"),
                      .memory_limit_bytes = maybe_number(json, "memoryLimitBytes"),
                      .memory_peak_bytes = maybe_number(json, "memoryPeakBytes"),
                      .denied = maybe_number(json, "denied"),
                      .throttled_ns = maybe_number(json, "throttledNs"),
                      .held_ns = number(json, "heldNs"),
                      .idle_held_ns = maybe_number(json, "idleHeldNs"),
                      .idle_ns = maybe_number(json, "idleNs"),
                      .processes = processes_in(json, "processes"),
                      .ended = flag(json, "ended")};
        for (const ParsedJson& id : list(json, "ids")) {
            if (id.is_string()) {
                tenant.ids.push_back(id.get<std::string>());
            } else {
                note("ids", "a list of texts");
            }
        }
        return tenant;
    }

    Part part_in(const ParsedJson& json) {
        Part part{.profile = text(json, "profile"),
                  .metrics = metrics_in(json),
                  .total = amounts_in(json, "total"),
                  .remainder = amounts_in(json, "remainder"),
                  .ended_busy_ns = number(json, "endedBusyNs"),
                  .ended_energy_millijoules = number(json, "endedEnergyMillijoules"),
                  .others = processes_in(json, "otherProcesses")};
        if (find(json, "gpuInstance") != nullptr)
            part.gpu_instance = small_number(json, "gpuInstance");
        for (const ParsedJson& uuid : list(json, "migDevices")) {
            if (uuid.is_string()) {
                part.mig_devices.push_back({uuid.get<std::string>()});
            } else {
                note("migDevices", "a list of texts");
            }
        }
        for (const ParsedJson& tenant : list(json, "tenants"))
            part.tenants.push_back(tenant_in(tenant));
        return part;
    }

    gpu::Health health_in(const ParsedJson& json) {
        gpu::Health health{.reason = text(json, "reason"), .advice = text(json, "advice")};
        const std::string state = text(json, "health");
        for (const auto one : {gpu::Health::State::kDegraded, gpu::Health::State::kUnhealthy}) {
            if (state == gpu::to_text(one)) health.state = one;
        }
        return health;
    }

    /// "0000:3b:00.0".
    gpu::PciAddress pci_in(const ParsedJson& json) {
        const std::string address = text(json, "pci");
        gpu::PciAddress pci;
        std::string_view left = address;
        for (unsigned* const part : {&pci.domain, &pci.bus, &pci.device}) {
            const auto value = take_number<unsigned>(left, 16);
            if (!value) break;
            *part = *value;
            left.remove_prefix(std::min<std::size_t>(1, left.size()));
        }
        return pci;
    }

    gpu::Gpu gpu_in(const ParsedJson& json) {
        const std::string mig = text(json, "mig");
        gpu::Gpu gpu{.index = small_number(json, "index"),
                     .uuid = {text(json, "uuid")},
                     .minor = small_number(json, "minor"),
                     .model = text(json, "model"),
                     .memory_bytes = number(json, "memoryBytes"),
                     .pci = pci_in(json),
                     .mig_capable = !mig.empty() && mig != "unsupported",
                     .mig_enabled = mig.starts_with("on"),
                     .mig_pending = mig.contains("after a reset"),
                     .health = health_in(json)};
        const std::string capability = text(json, "computeCapability");
        if (const std::size_t dot = capability.find('.'); dot != std::string::npos) {
            gpu.compute_major = leading_number<unsigned>(capability).value_or(0);
            gpu.compute_minor = leading_number<unsigned>(after(capability, ".")).value_or(0);
        }
        for (const ParsedJson& device : list(json, "migDevices")) {
            gpu.mig_devices.push_back({.uuid = {text(device, "uuid")},
                                       .index = small_number(device, "index"),
                                       .profile = text(device, "profile"),
                                       .gpu_instance = small_number(device, "gpuInstance"),
                                       .compute_instance = small_number(device, "computeInstance"),
                                       .placement = {.start = small_number(device, "start"),
                                                     .size = small_number(device, "size")},
                                       .memory_bytes = number(device, "memoryBytes"),
                                       .health = health_in(device)});
        }
        return gpu;
    }

    Layout layout_in(const ParsedJson& json) {
        const ParsedJson& of = object(json, "layout");
        Layout layout{.mechanism = grant::parse_metric_text(text(of, "mechanism")),
                      .replicas = small_number(of, "replicas")};
        for (const auto& [resource, count] : numbers(of, "slots")) {
            layout.slots[resource] = static_cast<unsigned>(count);
        }
        for (const auto& [resource, count] : numbers(of, "allocated")) {
            layout.allocated[resource] = static_cast<unsigned>(count);
        }
        return layout;
    }

    Device device_in(const ParsedJson& json) {
        Device device{.gpu = gpu_in(json),
                      .layout = layout_in(json),
                      .read_at = moment(json, "readAtMs"),
                      .problem = text(json, "problem"),
                      .metrics = metrics_in(json),
                      .total = amounts_in(json, "total"),
                      .remainder = amounts_in(json, "remainder"),
                      .memory_busy_ns = number(json, "memoryBusyNs"),
                      .memory_busy_known = find(json, "memoryBusyNs") != nullptr,
                      .throttled_ns = numbers(json, "throttledNs")};
        for (const ParsedJson& one : list(json, "xidCounts")) {
            device.xids.push_back({.xid = number(one, "xid"),
                                   .count = number(one, "count"),
                                   .last = moment(one, "lastMs").value_or(Moment{})});
        }
        for (const ParsedJson& one : list(json, "xids")) {
            device.last_xids.push_back({.xid = number(one, "xid")});
        }
        for (const ParsedJson& part : list(json, "parts")) device.parts.push_back(part_in(part));
        return device;
    }

    SamplingStatus sight_in(const ParsedJson& json) {
        const ParsedJson& of = object(json, "sight");
        SamplingStatus sampling{.mps_server_only = flag(of, "mpsServerOnly"),
                                .mig_use_unknown = flag(of, "migUseUnknown"),
                                .looks = number(of, "looks"),
                                .failed_looks = number(of, "failedLooks"),
                                .look_ns = number(of, "lookNs"),
                                .last_good = moment(of, "lastGoodMs")};
        for (const ParsedJson& name : list(of, "degraded")) {
            for (const auto one : {pods::Degraded::kNoHostPid, pods::Degraded::kNoPodIdentity,
                                   pods::Degraded::kStaleHolders}) {
                if (name.is_string() && name.get<std::string>() == pods::to_text(one)) {
                    sampling.degraded.push_back(one);
                }
            }
        }
        for (const ParsedJson& one : list(of, "failedCalls")) {
            sampling
                .failed_calls[{text(one, "call"), static_cast<int>(small_number(one, "code"))}] =
                number(one, "count");
        }
        return sampling;
    }

    Snapshot snapshot_in(const ParsedJson& json) {
        if (text(json, "kind") != "NodeState") note("kind", "'NodeState'");
        Snapshot snapshot{.at = moment(json, "atMs").value_or(Moment{}),
                          .sequence = number(json, "sequence"),
                          .node = text(json, "node"),
                          .driver_version = text(json, "driverVersion"),
                          .cuda_version = static_cast<int>(small_number(json, "cudaVersion")),
                          .driver_problem = text(json, "driverProblem"),
                          .sampling = sight_in(json)};
        if (const ParsedJson* const price = find(json, "pricePerGpuHour")) {
            if (price->is_number()) {
                snapshot.price_per_gpu_hour = price->get<double>();
            } else {
                note("pricePerGpuHour", "a number");
            }
        }
        for (const ParsedJson& device : list(json, "gpus"))
            snapshot.devices.push_back(device_in(device));
        return snapshot;
    }

    std::string problem_;
};

}  // namespace

Result<Snapshot> parse_state(std::string_view json) {
    if (json.size() > kMostBytes) {
        return Error{ErrorCode::kInvalidInput, "the agent's state is larger than 16 MiB"};
    }
    const ParsedJson parsed = parse_json<ParsedJson>(json);
    if (parsed.is_discarded() || !parsed.is_object()) {
        return Error{ErrorCode::kInvalidInput, "the agent's state is not a JSON object"};
    }
    return StateReader().read(parsed);
}

}  // namespace aliquot::telemetry
