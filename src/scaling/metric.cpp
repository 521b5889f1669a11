// SPDX-License-Identifier: Apache-2.0
#include "scaling/metric.h"

#include <algorithm>
#include <array>

namespace aliquot::scaling {
namespace {

constexpr std::array<MetricInfo, 7> kMetrics{{
    {Metric::kIdleSeconds, "gpu_idle_seconds", Fold::kLeast, false},
    {Metric::kMemoryLimitRatio, "gpu_memory_limit_ratio", Fold::kMean, false},
    {Metric::kMemoryUsed, "gpu_memory_used_bytes", Fold::kSum, false},
    {Metric::kPower, "gpu_power_watts", Fold::kSum, false},
    {Metric::kShareUtilization, "gpu_share_utilization", Fold::kMean, true},
    {Metric::kThrottledRatio, "gpu_throttled_ratio", Fold::kMean, true},
    {Metric::kUtilization, "gpu_utilization", Fold::kMean, true},
}};

}  // namespace

std::span<const MetricInfo> metrics() { return kMetrics; }

const MetricInfo* find_metric(std::string_view name) {
    const auto* const found =
        std::find_if(kMetrics.begin(), kMetrics.end(),
                     [&](const MetricInfo& info) { return info.name == name; });
    return found == kMetrics.end() ? nullptr : found;
}

std::string metric_names() {
    std::string text;
    for (const MetricInfo& info : kMetrics) text.append(text.empty() ? "" : ", ").append(info.name);
    return text;
}

std::string quantity_text(std::int64_t thousandths) {
    constexpr std::int64_t kMilli = 1000;
    if (thousandths % kMilli == 0) return std::to_string(thousandths / kMilli);
    return std::to_string(thousandths) + "m";
}

}  // namespace aliquot::scaling
