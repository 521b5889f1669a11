// SPDX-License-Identifier: Apache-2.0
#include "nvml/performance_monitor.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <new>

namespace aliquot::nvml {
namespace {

using gpu::Metric;

constexpr double kPercent = 0.01;
constexpr double kMebibyte = 1024.0 * 1024.0;
/// Entries of the request: as many as NVIDIA's newest header has, since a library may touch them.
constexpr std::size_t kRequestEntries = 400;

struct GpmMetric {
    unsigned id;
    Metric metric;
    double scale;
};
constexpr std::array kMetrics = {
    GpmMetric{NVML_GPM_METRIC_GRAPHICS_UTIL, Metric::kGraphicsActive, kPercent},
    GpmMetric{NVML_GPM_METRIC_SM_UTIL, Metric::kSmActive, kPercent},
    GpmMetric{NVML_GPM_METRIC_SM_OCCUPANCY, Metric::kSmOccupancy, kPercent},
    GpmMetric{NVML_GPM_METRIC_ANY_TENSOR_UTIL, Metric::kTensorActive, kPercent},
    GpmMetric{NVML_GPM_METRIC_DRAM_BW_UTIL, Metric::kMemoryBandwidthActive, kPercent},
    GpmMetric{NVML_GPM_METRIC_FP64_UTIL, Metric::kFp64Active, kPercent},
    GpmMetric{NVML_GPM_METRIC_FP32_UTIL, Metric::kFp32Active, kPercent},
    GpmMetric{NVML_GPM_METRIC_FP16_UTIL, Metric::kFp16Active, kPercent},
    GpmMetric{NVML_GPM_METRIC_PCIE_TX_PER_SEC, Metric::kPcieTxBytesPerSecond, kMebibyte},
    GpmMetric{NVML_GPM_METRIC_PCIE_RX_PER_SEC, Metric::kPcieRxBytesPerSecond, kMebibyte},
    GpmMetric{NVML_GPM_METRIC_GR0_CTXSW_ACTIVE_PCT, Metric::kContextSwitchActive, kPercent},
};

bool is_refusal(nvmlReturn_t code) {
    return code == NVML_ERROR_NOT_SUPPORTED || code == NVML_ERROR_FUNCTION_NOT_FOUND ||
           code == NVML_ERROR_NO_PERMISSION || code == NVML_ERROR_INVALID_ARGUMENT;
}

}  // namespace

bool PerformanceMonitor::supported(Inquiry& inquiry) {
    if (!supported_) {
        nvmlGpmSupport_t support{};
        support.version = NVML_GPM_SUPPORT_VERSION;
        const auto& call = inquiry.nvml().nvmlGpmQueryDeviceSupport;
        if (!inquiry.ask(Topic::kMonitoring, call, &support)) {
            if (inquiry.refusals().has(Topic::kMonitoring)) supported_ = false;
            return false;
        }
        supported_ = support.isSupportedDevice != 0;
    }
    return *supported_;
}

bool PerformanceMonitor::take_sample(Inquiry& inquiry, Series& series, const MigHandle* mig) {
    const Functions& nvml = inquiry.nvml();
    for (nvmlGpmSample_t* const place : {&series.first, &series.second}) {
        if (*place != nullptr) continue;
        if (!inquiry.note_failure(nvml.nvmlGpmSampleAlloc.name(), nvml.nvmlGpmSampleAlloc(place))) {
            *place = nullptr;
            return false;
        }
    }
    if (mig == nullptr) {
        const auto code = nvml.nvmlGpmSampleGet(inquiry.device(), series.second);
        series.refused = is_refusal(code);
        return inquiry.note_failure(nvml.nvmlGpmSampleGet.name(), code);
    }
    auto code = nvml.nvmlGpmMigSampleGet(inquiry.device(), mig->gpu_instance, series.second);
    if (code == NVML_ERROR_FUNCTION_NOT_FOUND || code == NVML_ERROR_NOT_SUPPORTED) {
        code = nvml.nvmlGpmSampleGet(mig->handle, series.second);
    }
    // An instance that goes at this moment refuses too: the next look will not list it.
    series.refused = is_refusal(code) && code != NVML_ERROR_INVALID_ARGUMENT;
    return inquiry.note_failure(nvml.nvmlGpmMigSampleGet.name(), code);
}

bool PerformanceMonitor::read_metrics(Inquiry& inquiry, Series& series,
                                      gpu::MetricValues& metrics) {
    if (!request_) {
        constexpr std::size_t kBytes =
            offsetof(nvmlGpmMetricsGet_t, metrics) + kRequestEntries * sizeof(nvmlGpmMetric_t);
        request_ = std::make_unique<std::uint64_t[]>(kBytes / sizeof(std::uint64_t) + 1);
    }
    auto* const request = new (request_.get()) nvmlGpmMetricsGet_t{};
    nvmlGpmMetric_t* const entries = request->metrics;
    std::array<const GpmMetric*, kMetrics.size()> asked{};
    unsigned count = 0;
    for (const GpmMetric& gpm : kMetrics) {
        if (series.refused_metrics.contains(gpm.id)) continue;
        entries[count] = {};
        entries[count].metricId = gpm.id;
        asked[count++] = &gpm;
    }
    if (count == 0) return false;
    request->version = NVML_GPM_METRICS_GET_VERSION;
    request->numMetrics = count;
    request->sample1 = series.first;
    request->sample2 = series.second;
    const auto& call = inquiry.nvml().nvmlGpmMetricsGet;
    const auto code = call(request);
    // Two samples of which the first is of an instance that was re-made are an invalid argument.
    if (!inquiry.note_failure(call.name(), code)) return false;
    for (unsigned i = 0; i < count; ++i) {
        if (entries[i].nvmlReturn != NVML_SUCCESS) {
            if (is_refusal(entries[i].nvmlReturn)) series.refused_metrics.insert(asked[i]->id);
            continue;
        }
        if (!std::isfinite(entries[i].value) || entries[i].value < 0) continue;
        double value = entries[i].value * asked[i]->scale;
        if (asked[i]->scale == kPercent) value = std::min(value, 1.0);
        metrics.set(asked[i]->metric, value);
    }
    return true;
}

std::chrono::nanoseconds PerformanceMonitor::read_series(Inquiry& inquiry, Series& series,
                                                         const MigHandle* mig, bool delivered,
                                                         gpu::MetricValues& metrics) {
    constexpr std::chrono::nanoseconds kNone{0};
    if (series.has_second && (delivered || !series.has_first)) {
        std::swap(series.first, series.second);
        series.first_at = series.second_at;
        series.has_first = true;
    }
    series.has_second = false;
    if (series.refused || inquiry.end() != NVML_SUCCESS) return kNone;
    const auto now = std::chrono::steady_clock::now();
    if (series.has_first && now - series.first_at < kShortestSpan) return kNone;
    if (!take_sample(inquiry, series, mig)) return kNone;
    series.second_at = now;
    series.has_second = true;
    if (!series.has_first) return kNone;
    if (read_metrics(inquiry, series, metrics)) return now - series.first_at;
    series.has_first = false;  // the two do not fit: begin with the second
    return kNone;
}

void PerformanceMonitor::drop(const Inquiry& inquiry, Series& series) {
    for (const nvmlGpmSample_t sample : {series.first, series.second}) {
        if (sample != nullptr) inquiry.nvml().nvmlGpmSampleFree(sample);
    }
    series = {};
}

void PerformanceMonitor::read(Inquiry& inquiry, const std::vector<MigHandle>& mig, bool delivered,
                              gpu::Reading& reading) {
    if (!supported(inquiry)) return;
    reading.averaged = read_series(inquiry, whole_, nullptr, delivered, reading.metrics);
    std::vector<gpu::InstanceReading>& instances = reading.instances;
    for (gpu::InstanceReading& instance : instances) {
        const auto handle = std::ranges::find(mig, instance.gpu_instance, &MigHandle::gpu_instance);
        if (handle == mig.end()) continue;
        Series& series = by_instance_[instance.gpu_instance];
        // Another instance of the same id has another handle.
        if (series.device != handle->handle) drop(inquiry, series);
        series.device = handle->handle;
        instance.averaged = read_series(inquiry, series, &*handle, delivered, instance.metrics);
    }
    for (auto next = by_instance_.begin(); next != by_instance_.end();) {
        const auto here = next++;
        const bool listed =
            std::ranges::any_of(instances, [here](const gpu::InstanceReading& instance) {
                return instance.gpu_instance == here->first;
            });
        if (listed) continue;
        drop(inquiry, here->second);
        by_instance_.erase(here);
    }
}

void PerformanceMonitor::forget() {
    supported_.reset();
    whole_ = {};
    by_instance_.clear();
}

}  // namespace aliquot::nvml
