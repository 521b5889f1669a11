// SPDX-License-Identifier: Apache-2.0
//
// The fields of --query-gpu: errors of memory, and what is done about them.
#include "sim/smi/fields.h"

namespace aliquot::sim::smi {
namespace {

std::string ecc_now(const Reading<Modes>& reading) {
    return text_or(reading, query_problem,
                   [](const Modes& m) { return enabled_disabled(m.current); });
}

std::string ecc_next(const Reading<Modes>& reading) {
    return text_or(reading, query_problem,
                   [](const Modes& m) { return enabled_disabled(m.pending); });
}

std::string error_count(const Gpu& gpu, nvmlMemoryErrorType_t type, nvmlEccCounterType_t counter) {
    return number_cell(gpu.ecc_errors(type, counter));
}

std::string located(const Gpu& gpu, nvmlMemoryErrorType_t type, nvmlEccCounterType_t counter,
                    nvmlMemoryLocation_t location) {
    return number_cell(SMI_NUMBER(gpu, unsigned long long, nvmlDeviceGetMemoryErrorCounter, type,
                                  counter, location));
}
Reading<nvmlEccSramErrorStatus_t> sram_status(const Gpu& gpu) {
    Reading<nvmlEccSramErrorStatus_t> reading;
    reading.value.version = nvmlEccSramErrorStatus_v1;
    reading.code = gpu.problem();
    if (gpu.handle() != nullptr)
        reading.code =
            SMI_CALL(gpu.library(), nvmlDeviceGetSramEccErrorStatus, gpu.handle(), &reading.value);
    return reading;
}
std::string sram(const Gpu& gpu, std::uint64_t nvmlEccSramErrorStatus_t::*part) {
    return text_or(sram_status(gpu), query_problem,
                   [part](const auto& status) { return std::to_string(status.*part); });
}
std::string yes_no(const Reading<unsigned>& reading) {
    return text_or(reading, query_problem,
                   [](unsigned value) { return value != 0 ? "Yes" : "No"; });
}
std::string sram_exceeded(const Gpu& gpu) {
    const auto status = sram_status(gpu);
    return yes_no({status.code, status.value.bThresholdExceeded});
}
std::string retired(const Gpu& gpu, nvmlPageRetirementCause_t cause) {
    unsigned count = 0;
    nvmlReturn_t code = gpu.problem();
    if (gpu.handle() != nullptr)
        code = SMI_CALL(gpu.library(), nvmlDeviceGetRetiredPages, gpu.handle(), cause, &count,
                        nullptr);
    if (code == NVML_ERROR_INSUFFICIENT_SIZE) code = NVML_SUCCESS;
    return number_cell(Reading<unsigned>{code, count});
}
std::string bank_rows(const Gpu& gpu, std::uint32_t nvmlRowRemapperHistogramValues_t::*part) {
    const auto values =
        SMI_NUMBER(gpu, nvmlRowRemapperHistogramValues_t, nvmlDeviceGetRowRemapperHistogram);
    return text_or(values, query_problem,
                   [part](const auto& all) { return std::to_string(all.*part); });
}

// clang-format off
constexpr Field kMemoryHealth[] = {
    SMI_FIELD("ecc.mode.current", "", "", ecc_now(gpu.ecc_mode())),
    SMI_FIELD("ecc.mode.pending", "", "", ecc_next(gpu.ecc_mode())),
    SMI_FIELD("ecc.errors.corrected.volatile.device_memory", "", "", located(gpu, NVML_MEMORY_ERROR_TYPE_CORRECTED, NVML_VOLATILE_ECC, NVML_MEMORY_LOCATION_DEVICE_MEMORY)),
    SMI_FIELD("ecc.errors.corrected.volatile.dram", "", "", located(gpu, NVML_MEMORY_ERROR_TYPE_CORRECTED, NVML_VOLATILE_ECC, NVML_MEMORY_LOCATION_DRAM)),
    SMI_FIELD("ecc.errors.corrected.volatile.register_file", "", "", located(gpu, NVML_MEMORY_ERROR_TYPE_CORRECTED, NVML_VOLATILE_ECC, NVML_MEMORY_LOCATION_REGISTER_FILE)),
    SMI_FIELD("ecc.errors.corrected.volatile.l1_cache", "", "", located(gpu, NVML_MEMORY_ERROR_TYPE_CORRECTED, NVML_VOLATILE_ECC, NVML_MEMORY_LOCATION_L1_CACHE)),
    SMI_FIELD("ecc.errors.corrected.volatile.l2_cache", "", "", located(gpu, NVML_MEMORY_ERROR_TYPE_CORRECTED, NVML_VOLATILE_ECC, NVML_MEMORY_LOCATION_L2_CACHE)),
    SMI_FIELD("ecc.errors.corrected.volatile.texture_memory", "", "", located(gpu, NVML_MEMORY_ERROR_TYPE_CORRECTED, NVML_VOLATILE_ECC, NVML_MEMORY_LOCATION_TEXTURE_MEMORY)),
    SMI_FIELD("ecc.errors.corrected.volatile.cbu", "", "", located(gpu, NVML_MEMORY_ERROR_TYPE_CORRECTED, NVML_VOLATILE_ECC, NVML_MEMORY_LOCATION_CBU)),
    SMI_FIELD("ecc.errors.corrected.volatile.sram", "", "", located(gpu, NVML_MEMORY_ERROR_TYPE_CORRECTED, NVML_VOLATILE_ECC, NVML_MEMORY_LOCATION_SRAM)),
    SMI_FIELD("ecc.errors.corrected.volatile.total", "", "", error_count(gpu, NVML_MEMORY_ERROR_TYPE_CORRECTED, NVML_VOLATILE_ECC)),
    SMI_FIELD("ecc.errors.corrected.aggregate.device_memory", "", "", located(gpu, NVML_MEMORY_ERROR_TYPE_CORRECTED, NVML_AGGREGATE_ECC, NVML_MEMORY_LOCATION_DEVICE_MEMORY)),
    SMI_FIELD("ecc.errors.corrected.aggregate.dram", "", "", located(gpu, NVML_MEMORY_ERROR_TYPE_CORRECTED, NVML_AGGREGATE_ECC, NVML_MEMORY_LOCATION_DRAM)),
    SMI_FIELD("ecc.errors.corrected.aggregate.register_file", "", "", located(gpu, NVML_MEMORY_ERROR_TYPE_CORRECTED, NVML_AGGREGATE_ECC, NVML_MEMORY_LOCATION_REGISTER_FILE)),
    SMI_FIELD("ecc.errors.corrected.aggregate.l1_cache", "", "", located(gpu, NVML_MEMORY_ERROR_TYPE_CORRECTED, NVML_AGGREGATE_ECC, NVML_MEMORY_LOCATION_L1_CACHE)),
    SMI_FIELD("ecc.errors.corrected.aggregate.l2_cache", "", "", located(gpu, NVML_MEMORY_ERROR_TYPE_CORRECTED, NVML_AGGREGATE_ECC, NVML_MEMORY_LOCATION_L2_CACHE)),
    SMI_FIELD("ecc.errors.corrected.aggregate.texture_memory", "", "", located(gpu, NVML_MEMORY_ERROR_TYPE_CORRECTED, NVML_AGGREGATE_ECC, NVML_MEMORY_LOCATION_TEXTURE_MEMORY)),
    SMI_FIELD("ecc.errors.corrected.aggregate.cbu", "", "", located(gpu, NVML_MEMORY_ERROR_TYPE_CORRECTED, NVML_AGGREGATE_ECC, NVML_MEMORY_LOCATION_CBU)),
    SMI_FIELD("ecc.errors.corrected.aggregate.sram", "", "", located(gpu, NVML_MEMORY_ERROR_TYPE_CORRECTED, NVML_AGGREGATE_ECC, NVML_MEMORY_LOCATION_SRAM)),
    SMI_FIELD("ecc.errors.corrected.aggregate.total", "", "", error_count(gpu, NVML_MEMORY_ERROR_TYPE_CORRECTED, NVML_AGGREGATE_ECC)),
    SMI_FIELD("ecc.errors.uncorrected.volatile.device_memory", "", "", located(gpu, NVML_MEMORY_ERROR_TYPE_UNCORRECTED, NVML_VOLATILE_ECC, NVML_MEMORY_LOCATION_DEVICE_MEMORY)),
    SMI_FIELD("ecc.errors.uncorrected.volatile.dram", "", "", located(gpu, NVML_MEMORY_ERROR_TYPE_UNCORRECTED, NVML_VOLATILE_ECC, NVML_MEMORY_LOCATION_DRAM)),
    SMI_FIELD("ecc.errors.uncorrected.volatile.register_file", "", "", located(gpu, NVML_MEMORY_ERROR_TYPE_UNCORRECTED, NVML_VOLATILE_ECC, NVML_MEMORY_LOCATION_REGISTER_FILE)),
    SMI_FIELD("ecc.errors.uncorrected.volatile.l1_cache", "", "", located(gpu, NVML_MEMORY_ERROR_TYPE_UNCORRECTED, NVML_VOLATILE_ECC, NVML_MEMORY_LOCATION_L1_CACHE)),
    SMI_FIELD("ecc.errors.uncorrected.volatile.l2_cache", "", "", located(gpu, NVML_MEMORY_ERROR_TYPE_UNCORRECTED, NVML_VOLATILE_ECC, NVML_MEMORY_LOCATION_L2_CACHE)),
    SMI_FIELD("ecc.errors.uncorrected.volatile.texture_memory", "", "", located(gpu, NVML_MEMORY_ERROR_TYPE_UNCORRECTED, NVML_VOLATILE_ECC, NVML_MEMORY_LOCATION_TEXTURE_MEMORY)),
    SMI_FIELD("ecc.errors.uncorrected.volatile.cbu", "", "", located(gpu, NVML_MEMORY_ERROR_TYPE_UNCORRECTED, NVML_VOLATILE_ECC, NVML_MEMORY_LOCATION_CBU)),
    SMI_FIELD("ecc.errors.uncorrected.volatile.sram", "", "", located(gpu, NVML_MEMORY_ERROR_TYPE_UNCORRECTED, NVML_VOLATILE_ECC, NVML_MEMORY_LOCATION_SRAM)),
    SMI_FIELD("ecc.errors.uncorrected.volatile.total", "", "", error_count(gpu, NVML_MEMORY_ERROR_TYPE_UNCORRECTED, NVML_VOLATILE_ECC)),
    SMI_FIELD("ecc.errors.uncorrected.aggregate.device_memory", "", "", located(gpu, NVML_MEMORY_ERROR_TYPE_UNCORRECTED, NVML_AGGREGATE_ECC, NVML_MEMORY_LOCATION_DEVICE_MEMORY)),
    SMI_FIELD("ecc.errors.uncorrected.aggregate.dram", "", "", located(gpu, NVML_MEMORY_ERROR_TYPE_UNCORRECTED, NVML_AGGREGATE_ECC, NVML_MEMORY_LOCATION_DRAM)),
    SMI_FIELD("ecc.errors.uncorrected.aggregate.register_file", "", "", located(gpu, NVML_MEMORY_ERROR_TYPE_UNCORRECTED, NVML_AGGREGATE_ECC, NVML_MEMORY_LOCATION_REGISTER_FILE)),
    SMI_FIELD("ecc.errors.uncorrected.aggregate.l1_cache", "", "", located(gpu, NVML_MEMORY_ERROR_TYPE_UNCORRECTED, NVML_AGGREGATE_ECC, NVML_MEMORY_LOCATION_L1_CACHE)),
    SMI_FIELD("ecc.errors.uncorrected.aggregate.l2_cache", "", "", located(gpu, NVML_MEMORY_ERROR_TYPE_UNCORRECTED, NVML_AGGREGATE_ECC, NVML_MEMORY_LOCATION_L2_CACHE)),
    SMI_FIELD("ecc.errors.uncorrected.aggregate.texture_memory", "", "", located(gpu, NVML_MEMORY_ERROR_TYPE_UNCORRECTED, NVML_AGGREGATE_ECC, NVML_MEMORY_LOCATION_TEXTURE_MEMORY)),
    SMI_FIELD("ecc.errors.uncorrected.aggregate.cbu", "", "", located(gpu, NVML_MEMORY_ERROR_TYPE_UNCORRECTED, NVML_AGGREGATE_ECC, NVML_MEMORY_LOCATION_CBU)),
    SMI_FIELD("ecc.errors.uncorrected.aggregate.sram", "", "", located(gpu, NVML_MEMORY_ERROR_TYPE_UNCORRECTED, NVML_AGGREGATE_ECC, NVML_MEMORY_LOCATION_SRAM)),
    SMI_FIELD("ecc.errors.uncorrected.aggregate.total", "", "", error_count(gpu, NVML_MEMORY_ERROR_TYPE_UNCORRECTED, NVML_AGGREGATE_ECC)),
    SMI_FIELD("ecc.errors.uncorrected.volatile.sram.parity", "", "", sram(gpu, &nvmlEccSramErrorStatus_t::volatileUncParity)),
    SMI_FIELD("ecc.errors.uncorrected.volatile.sram.secded", "", "", sram(gpu, &nvmlEccSramErrorStatus_t::volatileUncSecDed)),
    SMI_FIELD("ecc.errors.uncorrected.aggregate.sram.parity", "", "", sram(gpu, &nvmlEccSramErrorStatus_t::aggregateUncParity)),
    SMI_FIELD("ecc.errors.uncorrected.aggregate.sram.secded", "", "", sram(gpu, &nvmlEccSramErrorStatus_t::aggregateUncSecDed)),
    SMI_FIELD("ecc.errors.uncorrected.aggregate.sram.thresholdExceeded", "", "", sram_exceeded(gpu)),
    SMI_FIELD("ecc.errors.uncorrected.aggregate.sram.l2", "", "", sram(gpu, &nvmlEccSramErrorStatus_t::aggregateUncBucketL2)),
    SMI_FIELD("ecc.errors.uncorrected.aggregate.sram.sm", "", "", sram(gpu, &nvmlEccSramErrorStatus_t::aggregateUncBucketSm)),
    SMI_FIELD("ecc.errors.uncorrected.aggregate.sram.mcu", "", "", sram(gpu, &nvmlEccSramErrorStatus_t::aggregateUncBucketMcu)),
    SMI_FIELD("ecc.errors.uncorrected.aggregate.sram.pcie", "", "", sram(gpu, &nvmlEccSramErrorStatus_t::aggregateUncBucketPcie)),
    SMI_FIELD("ecc.errors.uncorrected.aggregate.sram.other", "", "", sram(gpu, &nvmlEccSramErrorStatus_t::aggregateUncBucketOther)),
    SMI_FIELD("retired_pages.single_bit_ecc.count", "retired_pages.sbe", "", retired(gpu, NVML_PAGE_RETIREMENT_CAUSE_MULTIPLE_SINGLE_BIT_ECC_ERRORS)),
    SMI_FIELD("retired_pages.double_bit.count", "retired_pages.dbe", "", retired(gpu, NVML_PAGE_RETIREMENT_CAUSE_DOUBLE_BIT_ECC_ERROR)),
    SMI_FIELD("retired_pages.pending", "", "", yes_no(SMI_NUMBER(gpu, nvmlEnableState_t, nvmlDeviceGetRetiredPagesPendingStatus))),
    SMI_FIELD("remapped_rows.correctable", "remapped_rows.sbe", "", field(gpu, NVML_FI_DEV_REMAPPED_COR)),
    SMI_FIELD("remapped_rows.uncorrectable", "remapped_rows.dbe", "", field(gpu, NVML_FI_DEV_REMAPPED_UNC)),
    SMI_FIELD("remapped_rows.pending", "", "", yes_no(field_number(gpu, NVML_FI_DEV_REMAPPED_PENDING))),
    SMI_FIELD("remapped_rows.failure", "", "", yes_no(field_number(gpu, NVML_FI_DEV_REMAPPED_FAILURE))),
    SMI_FIELD("remapped_rows.histogram.max", "", "", bank_rows(gpu, &nvmlRowRemapperHistogramValues_t::max)),
    SMI_FIELD("remapped_rows.histogram.high", "", "", bank_rows(gpu, &nvmlRowRemapperHistogramValues_t::high)),
    SMI_FIELD("remapped_rows.histogram.partial", "", "", bank_rows(gpu, &nvmlRowRemapperHistogramValues_t::partial)),
    SMI_FIELD("remapped_rows.histogram.low", "", "", bank_rows(gpu, &nvmlRowRemapperHistogramValues_t::low)),
    SMI_FIELD("remapped_rows.histogram.none", "", "", bank_rows(gpu, &nvmlRowRemapperHistogramValues_t::none)),
};
// clang-format on

}  // namespace

std::span<const Field> memory_health_fields() { return kMemoryHealth; }

}  // namespace aliquot::sim::smi
