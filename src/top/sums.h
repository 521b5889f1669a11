// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "top/cluster_snapshot.h"

namespace aliquot::top {

/// What adds up over the GPUs of a node, and over nodes. Of amounts that some GPUs do not report
/// the sum of the others; empty: none reports it.
struct Sums {
    unsigned gpus = 0;
    unsigned silent_gpus = 0;     // those that do not answer
    unsigned unhealthy_gpus = 0;  // not to be handed out
    std::uint64_t busy_ppm = 0;   // over `busy_gpus`
    unsigned busy_gpus = 0;       // those that report it
    std::optional<std::uint64_t> memory_used_bytes;
    std::optional<std::uint64_t> memory_total_bytes;
    std::optional<std::uint64_t> power_milliwatts;
    unsigned slots = 0;
    unsigned allocated = 0;
    unsigned pods = 0;  // different ones, of a node
    unsigned idle_pods =
        0;  // of these, those that hold a share and have not used it for kIdleAfter
    std::optional<double> price_per_hour;  // of all GPUs

    [[nodiscard]] std::optional<std::uint64_t> utilization_ppm() const {
        if (busy_gpus == 0) return std::nullopt;
        return busy_ppm / busy_gpus;
    }
    void add(const Sums& other);
};

/// A tenant that holds a share is idle when it has not been busy for this long.
inline constexpr std::uint64_t kIdleAfterNs = 60'000'000'000;

Sums sums_of(const telemetry::Snapshot& node);
Sums sums_of(const ClusterSnapshot& cluster);

/// How busy a GPU is: its own metric; under MIG, where no driver tells it, that of its instances,
/// each by its part of the GPU's memory. Empty: not known.
std::optional<std::uint64_t> busy_of(const telemetry::Device& device);
std::optional<std::uint64_t> memory_total_of(const telemetry::Device& device);
bool is_idle(const telemetry::Tenant& tenant);
/// What it may use, of a whole GPU: of an instance its part of the GPU's memory. Parts per million.
std::uint64_t entitlement_of_gpu(const telemetry::Device& device, const telemetry::Part& part,
                                 const telemetry::Tenant& tenant);
/// "web"; where the name is not known "uid 3f2a..."; "?".
std::string pod_name(const telemetry::Tenant& tenant);

}  // namespace aliquot::top
