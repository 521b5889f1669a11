// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

/// GPU metrics as autoscalers ask for them: custom.metrics.k8s.io and external.metrics.k8s.io.
namespace aliquot::scaling {

/// What can be asked of a pod, of several together, or of a node.
enum class Metric : std::uint8_t {
    kUtilization,       // percent of the GPUs (or MIG instances) it is on
    kShareUtilization,  // percent of what it is entitled to; may exceed 100
    kMemoryUsed,        // bytes
    kMemoryLimitRatio,  // 0..1 of its limit; only of pods that have one
    kThrottledRatio,    // 0..1 of the time it waited because of its limit
    kIdleSeconds,       // since it last used a GPU
    kPower,             // watts, its part of the boards' power
};

/// How the values of several pods become one.
enum class Fold : std::uint8_t { kMean, kSum, kLeast };

struct MetricInfo {
    Metric metric;
    std::string_view name;
    Fold fold;
    bool smoothed;  // a mean over the window; else what was last seen
};

/// All of them, by name.
std::span<const MetricInfo> metrics();
/// nullptr: there is no such metric.
const MetricInfo* find_metric(std::string_view name);
/// "gpu_idle_seconds, gpu_memory_limit_ratio, ...": for messages.
std::string metric_names();

/// A Kubernetes quantity: 87500 thousandths are "87500m", 87000 are "87".
std::string quantity_text(std::int64_t thousandths);

}  // namespace aliquot::scaling
