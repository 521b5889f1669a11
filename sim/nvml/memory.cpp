// SPDX-License-Identifier: Apache-2.0
//
// Memory in space and GPU in time.
#include <algorithm>

#include "sim/node/processes.h"
#include "sim/nvml/library.h"

using namespace aliquot::sim;

namespace {

constexpr unsigned kMostSamples = kMaxSamples - 1;
constexpr std::uint64_t kBar1UsedBytes = std::uint64_t{1} << 20;

/// A GPU in MIG mode and its MIG devices do not tell how busy they are.
bool tells_utilization(const Gpu& gpu) { return !gpu.mig(); }

/// What is in use of a GPU's memory or of a MIG device's.
struct Usage {
    std::uint64_t total = 0;
    std::uint64_t reserved = 0;
    std::uint64_t used = 0;  // by processes
};

Usage usage_of(const Gpu& gpu) {
    Usage usage;
    if (gpu.device) {
        usage.total = memory_bytes(*gpu.device->profile);
        usage.reserved = reserved_bytes_on(*gpu.device->profile);
        usage.used = gpu.device->used_bytes;
    } else {
        usage.total = gpu.model->memory_bytes();
        usage.reserved = gpu.model->reserved_bytes();
        usage.used = gpu.load.memory_bytes;
    }
    usage.used = std::min(usage.used, usage.total - usage.reserved);
    return usage;
}

/// Video engines idle: nothing that is simulated encodes or decodes.
nvmlReturn_t tell_engine(nvmlDevice_t device, unsigned* percent, unsigned* period,
                         bool (*has)(const Model&)) {
    return with_gpu(device, [&](const Gpu& gpu) -> nvmlReturn_t {
        if (percent == nullptr || period == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
        if (!has(*gpu.model) || !tells_utilization(gpu)) return NVML_ERROR_NOT_SUPPORTED;
        *percent = 0;
        *period = static_cast<unsigned>(kSamplingPeriodUs);
        return NVML_SUCCESS;
    });
}

/// What a buffer of samples holds since the load changed last; empty: this GPU has no such buffer.
std::optional<unsigned> sampled_value(const Gpu& gpu, nvmlSamplingType_t type) {
    switch (type) {
        case NVML_TOTAL_POWER_SAMPLES:
        case NVML_MODULE_POWER_SAMPLES:
            if (type == NVML_MODULE_POWER_SAMPLES &&
                gpu.model->architecture < NVML_DEVICE_ARCH_HOPPER) {
                return std::nullopt;
            }
            return static_cast<unsigned>(gpu.figures.power_milliwatts);
        case NVML_ENC_UTILIZATION_SAMPLES:
        case NVML_DEC_UTILIZATION_SAMPLES:
            if (!tells_utilization(gpu)) return std::nullopt;
            return 0U;
        case NVML_PROCESSOR_CLK_SAMPLES:
            return gpu.figures.graphics_mhz;
        case NVML_MEMORY_CLK_SAMPLES:
            return gpu.figures.memory_mhz;
        default:
            return std::nullopt;
    }
}

bool is_utilization(nvmlSamplingType_t type) {
    return type == NVML_GPU_UTILIZATION_SAMPLES || type == NVML_MEMORY_UTILIZATION_SAMPLES;
}

/// How busy the GPU or its memory was in each sampling period after `last_seen`.
nvmlReturn_t tell_utilization(nvmlDevice_t device, nvmlSamplingType_t type, std::uint64_t last_seen,
                              unsigned* count, nvmlSample_t* samples) {
    return with_state_of(device, [&](const Gpu& gpu, const State& state) -> nvmlReturn_t {
        if (!tells_utilization(gpu)) return NVML_ERROR_NOT_SUPPORTED;
        if (samples == nullptr) {
            *count = kMostSamples;
            return NVML_SUCCESS;
        }
        const std::uint64_t newest = newest_period(state, gpu.slot);
        std::uint64_t period = std::max(last_seen / kSamplingPeriodUs, newest - kMostSamples) + 1;
        unsigned given = 0;
        for (; period <= newest && given < *count; ++period) {
            const auto value = type == NVML_GPU_UTILIZATION_SAMPLES
                                   ? gpu_sample(state, gpu.slot, period)
                                   : memory_sample(state, gpu.slot, period);
            if (!value) continue;
            samples[given] = {};
            samples[given].timeStamp = period * kSamplingPeriodUs;
            samples[given].sampleValue.uiVal = *value;
            ++given;
        }
        *count = given;
        return given == 0 ? NVML_ERROR_NOT_FOUND : NVML_SUCCESS;
    });
}

}  // namespace

extern "C" {

nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t* memory) {
    return with_device(device, [&](const Gpu& gpu) -> nvmlReturn_t {
        if (memory == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
        const Usage usage = usage_of(gpu);
        memory->total = usage.total;
        memory->used = usage.used + usage.reserved;
        memory->free = memory->total - memory->used;
        return NVML_SUCCESS;
    });
}
nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, nvmlMemory_v2_t* memory) {
    return with_device(device, [&](const Gpu& gpu) -> nvmlReturn_t {
        if (memory == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
        if (memory->version != nvmlMemory_v2) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
        const Usage usage = usage_of(gpu);
        memory->total = usage.total;
        memory->reserved = usage.reserved;
        memory->used = usage.used;
        memory->free = usage.total - usage.reserved - usage.used;
        return NVML_SUCCESS;
    });
}
nvmlReturn_t nvmlDeviceGetBAR1MemoryInfo(nvmlDevice_t device, nvmlBAR1Memory_t* memory) {
    return with_device(device, [&](const Gpu& gpu) -> nvmlReturn_t {
        if (memory == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
        memory->bar1Total = std::uint64_t{gpu.model->bar1_mib} << 20;
        memory->bar1Used = kBar1UsedBytes * (1 + gpu.load.processes);
        if (gpu.device) {
            memory->bar1Total =
                memory->bar1Total * gpu.device->profile->size / memory_slices(*gpu.model);
            memory->bar1Used = kBar1UsedBytes * gpu.device->processes;
        }
        memory->bar1Free = memory->bar1Total - memory->bar1Used;
        return NVML_SUCCESS;
    });
}

nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t* utilization) {
    return with_gpu(device, [&](const Gpu& gpu) -> nvmlReturn_t {
        if (utilization == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
        if (!tells_utilization(gpu)) return NVML_ERROR_NOT_SUPPORTED;
        utilization->gpu = gpu.load.sm_percent;
        utilization->memory = gpu.load.memory_percent;
        return NVML_SUCCESS;
    });
}
nvmlReturn_t nvmlDeviceGetEncoderUtilization(nvmlDevice_t device, unsigned int* percent,
                                             unsigned int* periodMicroseconds) {
    return tell_engine(device, percent, periodMicroseconds, [](const Model&) { return true; });
}
nvmlReturn_t nvmlDeviceGetDecoderUtilization(nvmlDevice_t device, unsigned int* percent,
                                             unsigned int* periodMicroseconds) {
    return tell_engine(device, percent, periodMicroseconds, [](const Model&) { return true; });
}
nvmlReturn_t nvmlDeviceGetJpgUtilization(nvmlDevice_t device, unsigned int* percent,
                                         unsigned int* periodMicroseconds) {
    return tell_engine(device, percent, periodMicroseconds, [](const Model& model) {
        return model.architecture >= NVML_DEVICE_ARCH_TURING;
    });
}
nvmlReturn_t nvmlDeviceGetOfaUtilization(nvmlDevice_t device, unsigned int* percent,
                                         unsigned int* periodMicroseconds) {
    return tell_engine(device, percent, periodMicroseconds, [](const Model& model) {
        return model.architecture >= NVML_DEVICE_ARCH_TURING;
    });
}

nvmlReturn_t nvmlDeviceGetSamples(nvmlDevice_t device, nvmlSamplingType_t type,
                                  unsigned long long lastSeen, nvmlValueType_t* valueType,
                                  unsigned int* count, nvmlSample_t* samples) {
    return with_gpu(device, [&](const Gpu& gpu) -> nvmlReturn_t {
        if (valueType == nullptr || count == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
        if (is_utilization(type)) {
            *valueType = NVML_VALUE_TYPE_UNSIGNED_INT;
            return tell_utilization(device, type, lastSeen, count, samples);
        }
        const auto value = sampled_value(gpu, type);
        if (!value) return NVML_ERROR_NOT_SUPPORTED;
        *valueType = NVML_VALUE_TYPE_UNSIGNED_INT;
        // The load has been what it is since load_changed_us; older samples are forgotten.
        const std::uint64_t newest = epoch_us() / kSamplingPeriodUs;
        const std::uint64_t after = std::max<std::uint64_t>(
            {lastSeen, gpu.state.load_changed_us, (newest - kMostSamples) * kSamplingPeriodUs});
        const std::uint64_t oldest = after / kSamplingPeriodUs + 1;
        const std::uint64_t available = newest < oldest ? 0 : newest - oldest + 1;
        if (samples == nullptr) {
            *count = kMostSamples;
            return NVML_SUCCESS;
        }
        if (available == 0) return NVML_ERROR_NOT_FOUND;
        const unsigned given = static_cast<unsigned>(std::min<std::uint64_t>(available, *count));
        for (unsigned i = 0; i < given; ++i) {
            samples[i] = {};
            samples[i].timeStamp = (oldest + i) * kSamplingPeriodUs;
            samples[i].sampleValue.uiVal = *value;
        }
        *count = given;
        return NVML_SUCCESS;
    });
}

}  // extern "C"
