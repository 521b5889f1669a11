// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "scaling/directory.h"
#include "scaling/recent_metrics.h"

/// Small worlds for the tests of this folder.
namespace aliquot::scaling {

inline constexpr Instant kStart{std::chrono::hours(24 * 365 * 50)};  // 2019-12-20T00:00:00Z

inline telemetry::Tenant tenant(const std::string& pod, std::uint64_t entitlement_ppm,
                                std::optional<std::uint64_t> busy_ns,
                                std::optional<std::uint64_t> utilization_ppm = std::nullopt) {
    telemetry::Tenant made;
    made.owner = {.pod_uid = "uid-" + pod, .pod_namespace = "ns", .pod = pod, .container = "main"};
    made.resource = "nvidia.com/gpu";
    made.source = busy_ns ? telemetry::Source::kGuard : telemetry::Source::kNone;
    made.entitlement_ppm = entitlement_ppm;
    made.amounts.busy_ns = busy_ns;
    made.amounts.utilization_ppm = utilization_ppm;
    return made;
}

/// One GPU with these tenants, looked at `seconds` after the start.
inline telemetry::Snapshot snapshot(double seconds, std::vector<telemetry::Tenant> tenants,
                                    const std::string& node = "node-1") {
    telemetry::Snapshot made;
    made.node = node;
    made.at = kStart + std::chrono::milliseconds(static_cast<long>(seconds * 1000));
    telemetry::Device device;
    device.gpu.uuid.text = "GPU-" + node;
    device.read_at = made.at;
    telemetry::Part part;
    part.tenants = std::move(tenants);
    device.parts.push_back(std::move(part));
    made.devices.push_back(std::move(device));
    return made;
}

inline Instant after(double seconds) {
    return kStart + std::chrono::milliseconds(static_cast<long>(seconds * 1000));
}

/// A list of pods that is what the test says.
class ListedPods final : public PodDirectory {
public:
    [[nodiscard]] Result<Done> pods(
        const std::string& namespace_name,
        const std::function<void(const PodRecord&)>& visit) const override {
        if (!problem.empty()) return Error{ErrorCode::kUnavailable, problem};
        for (const PodRecord& record : records) {
            if (namespace_name == "ns") visit(record);
        }
        return Done{};
    }
    std::vector<PodRecord> records;
    std::string problem;
};

}  // namespace aliquot::scaling
