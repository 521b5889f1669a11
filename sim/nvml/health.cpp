// SPDX-License-Identifier: Apache-2.0
//
// ECC errors, retired pages and remapped rows.
#include "sim/nvml/library.h"

using namespace aliquot::sim;

namespace {

std::uint64_t ecc_count(const GpuState& gpu, nvmlMemoryErrorType_t type,
                        nvmlEccCounterType_t counter) {
    if (type == NVML_MEMORY_ERROR_TYPE_CORRECTED) {
        return counter == NVML_VOLATILE_ECC ? gpu.ecc_corrected_volatile
                                            : gpu.ecc_corrected_aggregate;
    }
    return counter == NVML_VOLATILE_ECC ? gpu.ecc_uncorrected_volatile
                                        : gpu.ecc_uncorrected_aggregate;
}

bool is_kind(nvmlMemoryErrorType_t type, nvmlEccCounterType_t counter) {
    return type <= NVML_MEMORY_ERROR_TYPE_UNCORRECTED && counter <= NVML_AGGREGATE_ECC;
}

/// Pages that were retired for this cause. Simulated errors hit pages one after the other.
std::uint64_t retired_pages(const GpuState& gpu, nvmlPageRetirementCause_t cause) {
    return cause == NVML_PAGE_RETIREMENT_CAUSE_DOUBLE_BIT_ECC_ERROR ? gpu.retired_uncorrected : 0;
}

nvmlReturn_t list_retired_pages(nvmlDevice_t device, nvmlPageRetirementCause_t cause,
                                unsigned* count, unsigned long long* addresses,
                                unsigned long long* timestamps) {
    constexpr std::uint64_t kMostPages = 64;
    return with_gpu(device, [&](const Gpu& gpu) -> nvmlReturn_t {
        if (cause > NVML_PAGE_RETIREMENT_CAUSE_DOUBLE_BIT_ECC_ERROR)
            return NVML_ERROR_INVALID_ARGUMENT;
        if (!gpu.model->retires_pages()) return NVML_ERROR_NOT_SUPPORTED;
        const auto pages = std::min(retired_pages(gpu.state, cause), kMostPages);
        // Asking with room for none is how clients count; with none to tell that succeeds.
        const auto result = begin_list(count, addresses, pages);
        if (result != NVML_SUCCESS) return result;
        for (std::uint64_t i = 0; i < pages; ++i) {
            addresses[i] = 0x10000 * (i + 1);
            if (timestamps != nullptr) timestamps[i] = gpu.state.load_changed_us;
        }
        return NVML_SUCCESS;
    });
}

}  // namespace

extern "C" {

nvmlReturn_t nvmlDeviceGetEccMode(nvmlDevice_t device, nvmlEnableState_t* current,
                                  nvmlEnableState_t* pending) {
    return with_gpu(device, [&](const Gpu& gpu) -> nvmlReturn_t {
        if (current == nullptr || pending == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
        if (gpu.model->ecc == Ecc::kNone) return NVML_ERROR_NOT_SUPPORTED;
        *current = gpu.model->ecc == Ecc::kOn ? NVML_FEATURE_ENABLED : NVML_FEATURE_DISABLED;
        *pending = gpu.state.ecc_pending != 0 ? NVML_FEATURE_ENABLED : NVML_FEATURE_DISABLED;
        return NVML_SUCCESS;
    });
}
nvmlReturn_t nvmlDeviceGetDefaultEccMode(nvmlDevice_t device, nvmlEnableState_t* mode);
nvmlReturn_t nvmlDeviceGetDefaultEccMode(nvmlDevice_t device, nvmlEnableState_t* mode) {
    nvmlEnableState_t pending = 0;
    return nvmlDeviceGetEccMode(device, mode, &pending);
}
nvmlReturn_t nvmlDeviceSetEccMode(nvmlDevice_t device, nvmlEnableState_t mode);
nvmlReturn_t nvmlDeviceSetEccMode(nvmlDevice_t device, nvmlEnableState_t mode) {
    return with_state_of(device, [&](const Gpu& gpu, State& state) -> nvmlReturn_t {
        if (mode > NVML_FEATURE_ENABLED) return NVML_ERROR_INVALID_ARGUMENT;
        if (gpu.model->ecc == Ecc::kNone) return NVML_ERROR_NOT_SUPPORTED;
        state.gpus[gpu.slot].ecc_pending = mode;  // takes effect with the next boot
        return NVML_SUCCESS;
    });
}
nvmlReturn_t nvmlDeviceClearEccErrorCounts(nvmlDevice_t device, nvmlEccCounterType_t counter);
nvmlReturn_t nvmlDeviceClearEccErrorCounts(nvmlDevice_t device, nvmlEccCounterType_t counter) {
    return with_state_of(device, [&](const Gpu& gpu, State& state) -> nvmlReturn_t {
        if (counter > NVML_AGGREGATE_ECC) return NVML_ERROR_INVALID_ARGUMENT;
        if (gpu.model->ecc != Ecc::kOn) return NVML_ERROR_NOT_SUPPORTED;
        GpuState& changed = state.gpus[gpu.slot];
        if (counter == NVML_VOLATILE_ECC) {
            changed.ecc_corrected_volatile = 0;
            changed.ecc_uncorrected_volatile = 0;
        } else {
            changed.ecc_corrected_aggregate = 0;
            changed.ecc_uncorrected_aggregate = 0;
        }
        return NVML_SUCCESS;
    });
}

// Of MIG devices the driver tells errors of the multiprocessors' own memory only.
nvmlReturn_t nvmlDeviceGetTotalEccErrors(nvmlDevice_t device, nvmlMemoryErrorType_t type,
                                         nvmlEccCounterType_t counter, unsigned long long* count) {
    return with_device(device, [&](const Gpu& gpu) -> nvmlReturn_t {
        if (count == nullptr || !is_kind(type, counter)) return NVML_ERROR_INVALID_ARGUMENT;
        if (gpu.model->ecc != Ecc::kOn) return NVML_ERROR_NOT_SUPPORTED;
        *count = gpu.device ? 0 : ecc_count(gpu.state, type, counter);
        return NVML_SUCCESS;
    });
}
nvmlReturn_t nvmlDeviceGetMemoryErrorCounter(nvmlDevice_t device, nvmlMemoryErrorType_t type,
                                             nvmlEccCounterType_t counter,
                                             nvmlMemoryLocation_t location,
                                             unsigned long long* count) {
    return with_gpu(device, [&](const Gpu& gpu) -> nvmlReturn_t {
        if (count == nullptr || !is_kind(type, counter) || location > NVML_MEMORY_LOCATION_SRAM) {
            return NVML_ERROR_INVALID_ARGUMENT;
        }
        if (gpu.model->ecc != Ecc::kOn) return NVML_ERROR_NOT_SUPPORTED;
        // Simulated errors happen in DRAM.
        *count = location == NVML_MEMORY_LOCATION_DRAM ? ecc_count(gpu.state, type, counter) : 0;
        return NVML_SUCCESS;
    });
}
nvmlReturn_t nvmlDeviceGetDetailedEccErrors(nvmlDevice_t device, nvmlMemoryErrorType_t type,
                                            nvmlEccCounterType_t counter,
                                            nvmlEccErrorCounts_t* counts) {
    return with_gpu(device, [&](const Gpu& gpu) -> nvmlReturn_t {
        if (counts == nullptr || !is_kind(type, counter)) return NVML_ERROR_INVALID_ARGUMENT;
        if (gpu.model->ecc != Ecc::kOn) return NVML_ERROR_NOT_SUPPORTED;
        *counts = {};
        counts->deviceMemory = ecc_count(gpu.state, type, counter);
        return NVML_SUCCESS;
    });
}
nvmlReturn_t nvmlDeviceGetSramEccErrorStatus(nvmlDevice_t device,
                                             nvmlEccSramErrorStatus_t* status) {
    return with_gpu(device, [&](const Gpu& gpu) -> nvmlReturn_t {
        if (status == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
        if (status->version != nvmlEccSramErrorStatus_v1)
            return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
        if (!gpu.model->remaps_rows()) return NVML_ERROR_NOT_SUPPORTED;
        *status = {};
        status->version = nvmlEccSramErrorStatus_v1;
        return NVML_SUCCESS;
    });
}

nvmlReturn_t nvmlDeviceGetRetiredPages(nvmlDevice_t device, nvmlPageRetirementCause_t cause,
                                       unsigned int* count, unsigned long long* addresses) {
    return list_retired_pages(device, cause, count, addresses, nullptr);
}
nvmlReturn_t nvmlDeviceGetRetiredPages_v2(nvmlDevice_t device, nvmlPageRetirementCause_t cause,
                                          unsigned int* count, unsigned long long* addresses,
                                          unsigned long long* timestamps) {
    return list_retired_pages(device, cause, count, addresses, timestamps);
}
nvmlReturn_t nvmlDeviceGetRetiredPagesPendingStatus(nvmlDevice_t device,
                                                    nvmlEnableState_t* pending) {
    return with_gpu(device, [&](const Gpu& gpu) -> nvmlReturn_t {
        if (pending == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
        if (!gpu.model->retires_pages()) return NVML_ERROR_NOT_SUPPORTED;
        *pending =
            gpu.state.fault.remap_pending != 0 ? NVML_FEATURE_ENABLED : NVML_FEATURE_DISABLED;
        return NVML_SUCCESS;
    });
}

nvmlReturn_t nvmlDeviceGetRemappedRows(nvmlDevice_t device, unsigned int* corrected,
                                       unsigned int* uncorrected, unsigned int* pending,
                                       unsigned int* failure) {
    return with_gpu(device, [&](const Gpu& gpu) -> nvmlReturn_t {
        if (corrected == nullptr || uncorrected == nullptr || pending == nullptr ||
            failure == nullptr) {
            return NVML_ERROR_INVALID_ARGUMENT;
        }
        if (!gpu.model->remaps_rows()) return NVML_ERROR_NOT_SUPPORTED;
        *corrected = 0;
        *uncorrected = static_cast<unsigned>(gpu.state.remapped_uncorrected);
        *pending = gpu.state.fault.remap_pending != 0 ? 1 : 0;
        *failure = gpu.state.fault.remap_failed != 0 ? 1 : 0;
        return NVML_SUCCESS;
    });
}
nvmlReturn_t nvmlDeviceGetRowRemapperHistogram(nvmlDevice_t device,
                                               nvmlRowRemapperHistogramValues_t* values) {
    return with_gpu(device, [&](const Gpu& gpu) -> nvmlReturn_t {
        if (values == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
        if (!gpu.model->remaps_rows()) return NVML_ERROR_NOT_SUPPORTED;
        // Banks by how many spare rows they have left; every remapped row is of another bank.
        const unsigned banks = gpu.model->bus_width_bits / 8;
        const auto used =
            static_cast<unsigned>(std::min<std::uint64_t>(gpu.state.remapped_uncorrected, banks));
        const unsigned none = gpu.state.fault.remap_failed != 0 ? 1 : 0;
        *values = {.max = banks - std::min(banks, used + none),
                   .high = used,
                   .partial = 0,
                   .low = 0,
                   .none = none};
        return NVML_SUCCESS;
    });
}

}  // extern "C"
