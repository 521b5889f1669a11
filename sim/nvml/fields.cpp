// SPDX-License-Identifier: Apache-2.0
//
// Field values: the same facts by number, as exporters ask for them.
#include <algorithm>
#include <optional>

#include "sim/node/topology.h"
#include "sim/nvml/library.h"

using namespace aliquot::sim;

namespace {

constexpr int kMostFields = 4096;

/// A field's value, or why there is none.
struct Answer {
    nvmlReturn_t result = NVML_ERROR_NOT_SUPPORTED;
    nvmlValueType_t type = NVML_VALUE_TYPE_UNSIGNED_INT;
    std::uint64_t value = 0;
    bool negative = false;
};

Answer narrow(std::uint64_t value) {
    return {.result = NVML_SUCCESS, .type = NVML_VALUE_TYPE_UNSIGNED_INT, .value = value};
}
Answer wide(std::uint64_t value) {
    return {.result = NVML_SUCCESS, .type = NVML_VALUE_TYPE_UNSIGNED_LONG_LONG, .value = value};
}
Answer only_if(bool supported, const Answer& answer) { return supported ? answer : Answer{}; }
Answer degrees(unsigned below_max, unsigned celsius) {
    return {.result = NVML_SUCCESS,
            .type = NVML_VALUE_TYPE_SIGNED_INT,
            .value = below_max >= celsius ? below_max - celsius : celsius - below_max,
            .negative = below_max < celsius};
}

Answer ecc_field(const Gpu& gpu, unsigned field) {
    const GpuState& state = gpu.state;
    const bool on = gpu.model->ecc == Ecc::kOn;
    switch (field) {
        case NVML_FI_DEV_ECC_CURRENT:
            return only_if(gpu.model->ecc != Ecc::kNone, narrow(on ? 1 : 0));
        case NVML_FI_DEV_ECC_PENDING:
            return only_if(gpu.model->ecc != Ecc::kNone, narrow(state.ecc_pending));
        case NVML_FI_DEV_ECC_SBE_VOL_TOTAL:
            return only_if(on, wide(state.ecc_corrected_volatile));
        case NVML_FI_DEV_ECC_DBE_VOL_TOTAL:
            return only_if(on, wide(state.ecc_uncorrected_volatile));
        case NVML_FI_DEV_ECC_SBE_AGG_TOTAL:
            return only_if(on, wide(state.ecc_corrected_aggregate));
        case NVML_FI_DEV_ECC_DBE_AGG_TOTAL:
            return only_if(on, wide(state.ecc_uncorrected_aggregate));
        case NVML_FI_DEV_RETIRED_SBE:
            return only_if(gpu.model->retires_pages(), wide(0));
        case NVML_FI_DEV_RETIRED_DBE:
            return only_if(gpu.model->retires_pages(), wide(state.retired_uncorrected));
        case NVML_FI_DEV_RETIRED_PENDING:
        case NVML_FI_DEV_RETIRED_PENDING_DBE:
            return only_if(gpu.model->retires_pages(),
                           wide(state.fault.remap_pending != 0 ? 1 : 0));
        case NVML_FI_DEV_RETIRED_PENDING_SBE:
            return only_if(gpu.model->retires_pages(), wide(0));
        case NVML_FI_DEV_REMAPPED_FAILURE:
            return only_if(gpu.model->remaps_rows(), narrow(state.fault.remap_failed != 0 ? 1 : 0));
        case NVML_FI_DEV_REMAPPED_COR:
        case NVML_FI_DEV_REMAPPED_ROWS_COR_INACTIVE:
        case NVML_FI_DEV_REMAPPED_ROWS_UNC_INACTIVE:
            return only_if(gpu.model->remaps_rows(), narrow(0));
        case NVML_FI_DEV_REMAPPED_UNC:
            return only_if(gpu.model->remaps_rows(), narrow(state.remapped_uncorrected));
        case NVML_FI_DEV_REMAPPED_PENDING:
            return only_if(gpu.model->remaps_rows(),
                           narrow(state.fault.remap_pending != 0 ? 1 : 0));
        default:
            return {};
    }
}

Answer power_field(const Gpu& gpu, unsigned field) {
    const Model& model = *gpu.model;
    switch (field) {
        case NVML_FI_DEV_TOTAL_ENERGY_CONSUMPTION:
        case NVML_FI_DEV_ENERGY:
            return only_if(model.architecture >= NVML_DEVICE_ARCH_VOLTA,
                           wide(gpu.state.sums.energy_nanojoules / 1'000'000));
        case NVML_FI_DEV_POWER_AVERAGE:
        case NVML_FI_DEV_POWER_INSTANT:
            return only_if(model.architecture >= NVML_DEVICE_ARCH_AMPERE,
                           narrow(gpu.figures.power_milliwatts));
        case NVML_FI_DEV_POWER_MIN_LIMIT:
            return narrow(model.power_min_watts * 1000);
        case NVML_FI_DEV_POWER_MAX_LIMIT:
            return narrow(model.power_max_watts * 1000);
        case NVML_FI_DEV_POWER_DEFAULT_LIMIT:
            return narrow(model.power_default_watts * 1000);
        case NVML_FI_DEV_POWER_CURRENT_LIMIT:
        case NVML_FI_DEV_POWER_REQUESTED_LIMIT:
            return narrow(gpu.state.power_limit_milliwatts);
        case NVML_FI_DEV_MEMORY_TEMP:
            return only_if(model.bus_width_bits >= 2048, narrow(gpu.figures.memory_celsius));
        case NVML_FI_DEV_TEMPERATURE_SHUTDOWN_TLIMIT:
            return only_if(model.architecture >= NVML_DEVICE_ARCH_ADA,
                           degrees(model.max_celsius, model.shutdown_celsius));
        case NVML_FI_DEV_TEMPERATURE_SLOWDOWN_TLIMIT:
            return only_if(model.architecture >= NVML_DEVICE_ARCH_ADA,
                           degrees(model.max_celsius, model.slowdown_celsius));
        case NVML_FI_DEV_TEMPERATURE_GPU_MAX_TLIMIT:
            return only_if(model.architecture >= NVML_DEVICE_ARCH_ADA, degrees(0, 0));
        case NVML_FI_DEV_PERF_POLICY_POWER:
        case NVML_FI_DEV_PERF_POLICY_THERMAL:
        case NVML_FI_DEV_PERF_POLICY_SYNC_BOOST:
        case NVML_FI_DEV_PERF_POLICY_BOARD_LIMIT:
        case NVML_FI_DEV_PERF_POLICY_LOW_UTILIZATION:
        case NVML_FI_DEV_PERF_POLICY_RELIABILITY:
            return wide(violation_ns(gpu.state.sums, field - NVML_FI_DEV_PERF_POLICY_POWER));
        case NVML_FI_DEV_PERF_POLICY_TOTAL_APP_CLOCKS:
        case NVML_FI_DEV_PERF_POLICY_TOTAL_BASE_CLOCKS:
            return wide(0);
        case NVML_FI_DEV_CLOCKS_EVENT_REASON_SW_THERM_SLOWDOWN:
        case NVML_FI_DEV_CLOCKS_EVENT_REASON_HW_THERM_SLOWDOWN:
        case NVML_FI_DEV_CLOCKS_EVENT_REASON_HW_POWER_BRAKE_SLOWDOWN:
            return only_if(
                model.architecture >= NVML_DEVICE_ARCH_AMPERE,
                wide(
                    gpu.state.sums.throttled_us[1 + field -
                                                NVML_FI_DEV_CLOCKS_EVENT_REASON_SW_THERM_SLOWDOWN] *
                    1000));
        default:
            return {};
    }
}

/// Megabytes a second of one NVLink link.
unsigned link_speed(const Model& model) {
    switch (model.link_version) {
        case 2:
            return 25781;
        case 3:
            return 25000;
        case 4:
            return 26562;
        case 5:
            return 53125;
        default:
            return 0;
    }
}

Answer link_field(const Gpu& gpu, unsigned field, unsigned scope) {
    const Model& model = *gpu.model;
    if (field == NVML_FI_DEV_C2C_LINK_COUNT) return narrow(0);
    if (model.links == 0) return {};
    const Link end = link_of(model, gpu.state.index_in_group, gpu.state.group_size, scope);
    const bool active = end.kind != Link::Kind::kInactive;
    switch (field) {
        case NVML_FI_DEV_NVLINK_LINK_COUNT:
            return narrow(model.links);
        case NVML_FI_DEV_NVLINK_SPEED_MBPS_COMMON:
            return narrow(link_speed(model));
        case NVML_FI_DEV_NVLINK_GET_SPEED:
            return only_if(active, narrow(link_speed(model)));
        case NVML_FI_DEV_NVLINK_GET_STATE:
            return only_if(scope < model.links, narrow(active ? 1 : 0));
        case NVML_FI_DEV_NVLINK_GET_VERSION:
            return only_if(scope < model.links, narrow(model.link_version));
        case NVML_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL:
        case NVML_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_TOTAL:
        case NVML_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL:
        case NVML_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL:
        case NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX:  // no simulated workload talks to another GPU
        case NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX:
        case NVML_FI_DEV_NVLINK_THROUGHPUT_RAW_TX:
        case NVML_FI_DEV_NVLINK_THROUGHPUT_RAW_RX:
            return wide(0);
        default:
            if (field >= NVML_FI_DEV_NVLINK_COUNT_XMIT_PACKETS &&
                field <= NVML_FI_DEV_NVLINK_COUNT_LINK_RECOVERY_EVENTS) {
                return only_if(model.architecture >= NVML_DEVICE_ARCH_BLACKWELL && active, wide(0));
            }
            return {};
    }
}

Answer answer_field(const Gpu& gpu, unsigned field, unsigned scope) {
    const Model& model = *gpu.model;
    if (field >= NVML_FI_MAX) return {.result = NVML_ERROR_INVALID_ARGUMENT};
    for (const auto& answer :
         {ecc_field(gpu, field), power_field(gpu, field), link_field(gpu, field, scope)}) {
        if (answer.result == NVML_SUCCESS) return answer;
    }
    if (field >= NVML_FI_DEV_PCIE_COUNT_CORRECTABLE_ERRORS &&
        field <= NVML_FI_DEV_PCIE_COUNT_LANE_ERROR) {
        return only_if(model.architecture >= NVML_DEVICE_ARCH_AMPERE, narrow(0));
    }
    switch (field) {
        case NVML_FI_DEV_PCIE_REPLAY_COUNTER:
        case NVML_FI_DEV_PCIE_REPLAY_ROLLOVER_COUNTER:
            return narrow(0);
        case NVML_FI_DEV_PCIE_COUNT_TX_BYTES:
        case NVML_FI_DEV_PCIE_COUNT_RX_BYTES: {
            // The rate is proportional to how busy the GPU is, so bytes are to the sum of that.
            const auto full = figures_of(model, gpu.state, {.processes = 1, .sm_percent = 100});
            const auto rate = field == NVML_FI_DEV_PCIE_COUNT_TX_BYTES
                                  ? full.pcie_tx_kib_per_second
                                  : full.pcie_rx_kib_per_second;
            return only_if(model.architecture >= NVML_DEVICE_ARCH_AMPERE,
                           wide(gpu.state.sums.busy / 1'000'000 * rate / 100 * 1024 / 1000));
        }
        case NVML_FI_DEV_IS_RESETLESS_MIG_SUPPORTED:
            return narrow(
                model.mig_devices > 0 && model.architecture >= NVML_DEVICE_ARCH_HOPPER ? 1 : 0);
        case NVML_FI_DEV_IS_MIG_MODE_INDEPENDENT_MIG_QUERY_CAPABLE: {
            const auto session = Session::current();
            const bool tells = session && session->tells_profiles_always();
            return narrow(model.mig_devices > 0 && tells ? 1 : 0);
        }
        case NVML_FI_DEV_RESET_STATUS:
        case NVML_FI_DEV_DRAIN_AND_RESET_STATUS:
            return narrow(0);
        case NVML_FI_DEV_GET_GPU_RECOVERY_ACTION:
            return narrow(gpu.state.fault.recovery_action);
        default:
            return {};
    }
}

void fill(nvmlFieldValue_t& field, const Answer& answer, std::uint64_t now) {
    field.timestamp = static_cast<std::int64_t>(now);
    field.latencyUsec = 0;
    field.nvmlReturn = answer.result;
    field.valueType = answer.type;
    field.value.ullVal = 0;
    if (answer.result != NVML_SUCCESS) return;
    if (answer.type == NVML_VALUE_TYPE_SIGNED_INT) {
        const auto value = static_cast<std::int32_t>(answer.value);
        field.value.siVal = answer.negative ? -value : value;
    } else if (answer.type == NVML_VALUE_TYPE_UNSIGNED_INT) {
        field.value.uiVal = static_cast<std::uint32_t>(answer.value);
    } else {
        field.value.ullVal = answer.value;
    }
}

}  // namespace

extern "C" {

nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t device, int count, nvmlFieldValue_t* values) {
    return with_gpu(device, [&](const Gpu& gpu) -> nvmlReturn_t {
        if (values == nullptr || count < 0 || count > kMostFields)
            return NVML_ERROR_INVALID_ARGUMENT;
        const std::uint64_t now = epoch_us();
        for (int i = 0; i < count; ++i) {
            fill(values[i], answer_field(gpu, values[i].fieldId, values[i].scopeId), now);
        }
        return NVML_SUCCESS;
    });
}

nvmlReturn_t nvmlDeviceClearFieldValues(nvmlDevice_t device, int count, nvmlFieldValue_t* values);
nvmlReturn_t nvmlDeviceClearFieldValues(nvmlDevice_t device, int count, nvmlFieldValue_t* values) {
    return with_gpu(device, [&](const Gpu&) -> nvmlReturn_t {
        if (values == nullptr || count < 0 || count > kMostFields)
            return NVML_ERROR_INVALID_ARGUMENT;
        for (int i = 0; i < count; ++i) values[i].nvmlReturn = NVML_ERROR_NOT_SUPPORTED;
        return NVML_SUCCESS;
    });
}

}  // extern "C"
