// SPDX-License-Identifier: Apache-2.0
//
// GPU performance monitoring (Hopper and newer): averages between two samples.
#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "sim/nvml/library.h"

using namespace aliquot::sim;

struct nvmlGpmSample_st {
    bool taken = false;
    unsigned slot = 0;
    std::uint64_t at_ns = 0;
    LoadSums sums{};
    unsigned gpu_instance = NVML_NO_INSTANCE;
    std::uint64_t instance_incarnation = 0;
    double full_rx_mib_per_second = 0;  // of PCIe, when the GPU is busy all the time
};

namespace {

using Sample = nvmlGpmSample_st;

constexpr unsigned kLastMetric = 333;

struct Samples {
    std::mutex mutex;
    std::map<nvmlGpmSample_t, std::unique_ptr<Sample>> live;
};

Samples& samples() { return immortal<Samples>(); }

std::optional<Sample> copy_of(nvmlGpmSample_t handle) {
    const std::lock_guard lock(samples().mutex);
    const auto found = samples().live.find(handle);
    if (found == samples().live.end()) return std::nullopt;
    return *found->second;
}

bool has_gpm(const Model& model) { return model.architecture >= NVML_DEVICE_ARCH_HOPPER; }

/// Averages between two samples, in percent.
struct Averages {
    double busy = 0;
    double memory = 0;
    double switching = 0;
    double full_rx = 0;  // MiB a second, of a GPU that is busy all the time
};

Averages averages_of(const Sample& first, const Sample& second) {
    // Thousandths of a percent times microseconds, over nanoseconds.
    const double unit = static_cast<double>(second.at_ns - first.at_ns);
    const auto mean = [unit](std::uint64_t from, std::uint64_t to) {
        return static_cast<double>(to - from) / unit;
    };
    return {.busy = mean(first.sums.busy, second.sums.busy),
            .memory = mean(first.sums.memory_busy, second.sums.memory_busy),
            .switching = mean(first.sums.switching, second.sums.switching),
            .full_rx = second.full_rx_mib_per_second};
}

/// What one metric was. The shares of the parts of a multiprocessor are those of mixed-precision
/// training.
std::optional<double> metric(unsigned id, const Averages& averages) {
    const double busy = averages.busy;
    switch (id) {
        case NVML_GPM_METRIC_GRAPHICS_UTIL:
        case NVML_GPM_METRIC_SM_UTIL:
            return busy;
        case NVML_GPM_METRIC_SM_OCCUPANCY:
            return busy * 0.5;
        case NVML_GPM_METRIC_ANY_TENSOR_UTIL:
        case NVML_GPM_METRIC_HMMA_TENSOR_UTIL:
            return busy * 0.4;
        case NVML_GPM_METRIC_INTEGER_UTIL:
        case NVML_GPM_METRIC_FP16_UTIL:
            return busy * 0.1;
        case NVML_GPM_METRIC_FP32_UTIL:
            return busy * 0.2;
        case NVML_GPM_METRIC_DFMA_TENSOR_UTIL:
        case NVML_GPM_METRIC_DMMA_TENSOR_UTIL:
        case NVML_GPM_METRIC_IMMA_TENSOR_UTIL:
        case NVML_GPM_METRIC_FP64_UTIL:
            return 0;
        case NVML_GPM_METRIC_DRAM_BW_UTIL:
            return averages.memory;
        case NVML_GPM_METRIC_GR0_CTXSW_ACTIVE_PCT:
            return averages.switching;
        case NVML_GPM_METRIC_PCIE_RX_PER_SEC:
            return averages.full_rx * busy / 100;
        case NVML_GPM_METRIC_PCIE_TX_PER_SEC:
            return averages.full_rx * busy / 400;
        default:
            if (id >= NVML_GPM_METRIC_NVDEC_0_UTIL &&
                id < NVML_GPM_METRIC_NVLINK_L0_TX_PER_SEC + 36) {
                return 0;  // video engines and NVLink: nothing simulated uses them
            }
            return std::nullopt;
    }
}

/// What was summed of a GPU or of one instance. Memory of an instance is as busy as that of a GPU
/// would be.
LoadSums sums_of(const GpuState& gpu, const GpuInstanceState* instance) {
    LoadSums sums = gpu.sums;
    if (instance != nullptr) {
        sums.busy = instance->busy;
        sums.memory_busy = instance->busy * 6 / 10;
        sums.switching = instance->switching;
    }
    return sums;
}

/// gpu_instance   NVML_NO_INSTANCE: the whole GPU
nvmlReturn_t take_sample(nvmlDevice_t device, unsigned gpu_instance, nvmlGpmSample_t handle) {
    return with_state_of(device, [&](const Gpu& gpu, const State& state) -> nvmlReturn_t {
        if (!has_gpm(*gpu.model)) return NVML_ERROR_NOT_SUPPORTED;
        const bool whole = gpu_instance == NVML_NO_INSTANCE;
        if (!whole && !gpu.mig()) return NVML_ERROR_NOT_SUPPORTED;
        const auto instance = find_gpu_instance(state, gpu.slot, gpu_instance);
        if (!whole && !instance) return NVML_ERROR_INVALID_ARGUMENT;
        const std::lock_guard lock(samples().mutex);
        const auto found = samples().live.find(handle);
        if (found == samples().live.end()) return NVML_ERROR_INVALID_ARGUMENT;
        const auto full = figures_of(*gpu.model, gpu.state, {.processes = 1, .sm_percent = 100});
        *found->second = {
            .taken = true,
            .slot = gpu.slot,
            .at_ns = state.gpus[gpu.slot].sums.since_ns,
            .sums = sums_of(state.gpus[gpu.slot], whole ? nullptr : instance.state),
            .gpu_instance = gpu_instance,
            .instance_incarnation = instance ? instance.state->incarnation : 0,
            .full_rx_mib_per_second = static_cast<double>(full.pcie_rx_kib_per_second) / 1024};
        return NVML_SUCCESS;
    });
}

}  // namespace

namespace aliquot::sim {

void forget_samples() {
    const std::lock_guard lock(samples().mutex);
    samples().live.clear();
}

}  // namespace aliquot::sim

extern "C" {

nvmlReturn_t nvmlGpmQueryDeviceSupport(nvmlDevice_t device, nvmlGpmSupport_t* support) {
    return with_gpu(device, [&](const Gpu& gpu) -> nvmlReturn_t {
        if (support == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
        if (support->version != NVML_GPM_SUPPORT_VERSION)
            return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
        support->isSupportedDevice = has_gpm(*gpu.model) ? 1 : 0;
        return NVML_SUCCESS;
    });
}

nvmlReturn_t nvmlGpmSampleAlloc(nvmlGpmSample_t* sample) {
    if (!Session::current()) return NVML_ERROR_UNINITIALIZED;
    if (sample == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    auto made = std::make_unique<Sample>();
    *sample = made.get();
    const std::lock_guard lock(samples().mutex);
    samples().live.emplace(made.get(), std::move(made));
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlGpmSampleFree(nvmlGpmSample_t sample) {
    if (!Session::current()) return NVML_ERROR_UNINITIALIZED;
    const std::lock_guard lock(samples().mutex);
    return samples().live.erase(sample) == 1 ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}

nvmlReturn_t nvmlGpmSampleGet(nvmlDevice_t device, nvmlGpmSample_t sample) {
    return take_sample(device, NVML_NO_INSTANCE, sample);
}

nvmlReturn_t nvmlGpmMigSampleGet(nvmlDevice_t device, unsigned int gpuInstanceId,
                                 nvmlGpmSample_t sample) {
    if (gpuInstanceId == NVML_NO_INSTANCE && Session::current()) return NVML_ERROR_INVALID_ARGUMENT;
    return take_sample(device, gpuInstanceId, sample);
}

nvmlReturn_t nvmlGpmMetricsGet(nvmlGpmMetricsGet_t* metrics) {
    if (!Session::current()) return NVML_ERROR_UNINITIALIZED;
    if (metrics == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    if (metrics->version != NVML_GPM_METRICS_GET_VERSION)
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    if (metrics->numMetrics > kLastMetric) return NVML_ERROR_INVALID_ARGUMENT;
    const auto first = copy_of(metrics->sample1);
    const auto second = copy_of(metrics->sample2);
    if (!first || !second || !first->taken || !second->taken || first->slot != second->slot ||
        first->gpu_instance != second->gpu_instance ||
        first->instance_incarnation != second->instance_incarnation ||
        second->at_ns <= first->at_ns) {
        return NVML_ERROR_INVALID_ARGUMENT;
    }
    const Averages averages = averages_of(*first, *second);
    nvmlGpmMetric_t* const asked = metrics->metrics;
    for (unsigned i = 0; i < metrics->numMetrics; ++i) {
        const auto value = metric(asked[i].metricId, averages);
        asked[i].nvmlReturn = value ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED;
        asked[i].value = value.value_or(0);
        asked[i].metricInfo = {};
    }
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlGpmSetStreamingEnabled(nvmlDevice_t device, unsigned int /*enabled*/) {
    return with_gpu(device, [](const Gpu& gpu) {
        return has_gpm(*gpu.model) ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED;
    });
}

}  // extern "C"
