// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cmath>

#include "base/units.h"
#include "exposition/writers.h"

namespace aliquot::exposition {
namespace {

using gpu::Metric;
using telemetry::Amounts;

/// How a metric becomes a value in base units.
enum class Scale : std::uint8_t { kOne, kMilli, kPercent, kMega };

/// A family, or those of its rows that have this label, from one metric.
struct Simple {
    std::string_view family;
    Metric metric;
    Scale scale = Scale::kOne;
    std::string_view label{};  // empty: none
    std::string_view value{};
    std::string_view second_label{};
    std::string_view second_value{};
};

constexpr std::array kFaults{
    Simple{"gpu_ecc_errors_total", Metric::kEccCorrectedVolatile, Scale::kOne, "severity",
           "corrected", "window", "volatile"},
    Simple{"gpu_ecc_errors_total", Metric::kEccUncorrectedVolatile, Scale::kOne, "severity",
           "uncorrected", "window", "volatile"},
    Simple{"gpu_ecc_errors_total", Metric::kEccCorrectedAggregate, Scale::kOne, "severity",
           "corrected", "window", "aggregate"},
    Simple{"gpu_ecc_errors_total", Metric::kEccUncorrectedAggregate, Scale::kOne, "severity",
           "uncorrected", "window", "aggregate"},
    Simple{"gpu_remapped_rows", Metric::kRemappedRowsCorrected, Scale::kOne, "cause", "corrected"},
    Simple{"gpu_remapped_rows", Metric::kRemappedRowsUncorrected, Scale::kOne, "cause",
           "uncorrected"},
    Simple{"gpu_row_remap_pending", Metric::kRowRemapPending},
    Simple{"gpu_row_remap_failure", Metric::kRowRemapFailed},
    Simple{"gpu_retired_pages", Metric::kRetiredPagesCorrected, Scale::kOne, "cause", "corrected"},
    Simple{"gpu_retired_pages", Metric::kRetiredPagesUncorrected, Scale::kOne, "cause",
           "uncorrected"},
    Simple{"gpu_retired_pages_pending", Metric::kRetiredPagesPending},
    Simple{"gpu_recovery_action", Metric::kRecoveryAction},
    Simple{"gpu_pcie_replays_total", Metric::kPcieReplays},
    Simple{"gpu_nvlink_errors_total", Metric::kNvlinkErrors},
};

constexpr std::array kUse{
    Simple{"gpu_memory_busy_ratio", Metric::kMemoryBusyPercent, Scale::kPercent},
    Simple{"gpu_encoder_utilization_ratio", Metric::kEncoderPercent, Scale::kPercent},
    Simple{"gpu_decoder_utilization_ratio", Metric::kDecoderPercent, Scale::kPercent},
    Simple{"gpu_memory_total_bytes", Metric::kMemoryTotalBytes},
    Simple{"gpu_memory_free_bytes", Metric::kMemoryFreeBytes},
    Simple{"gpu_memory_reserved_bytes", Metric::kMemoryReservedBytes},
    Simple{"gpu_bar1_total_bytes", Metric::kBar1TotalBytes},
    Simple{"gpu_bar1_used_bytes", Metric::kBar1UsedBytes},
    Simple{"gpu_power_instant_watts", Metric::kPowerInstantMilliwatts, Scale::kMilli},
    Simple{"gpu_temperature_celsius", Metric::kTemperatureCelsius, Scale::kOne, "sensor", "gpu"},
    Simple{"gpu_temperature_celsius", Metric::kMemoryTemperatureCelsius, Scale::kOne, "sensor",
           "memory"},
    Simple{"gpu_temperature_limit_celsius", Metric::kSlowdownCelsius, Scale::kOne, "limit",
           "slowdown"},
    Simple{"gpu_temperature_limit_celsius", Metric::kShutdownCelsius, Scale::kOne, "limit",
           "shutdown"},
    Simple{"gpu_fan_ratio", Metric::kFanPercent, Scale::kPercent},
    Simple{"gpu_clock_hertz", Metric::kSmClockMhz, Scale::kMega, "clock", "sm"},
    Simple{"gpu_clock_hertz", Metric::kMemoryClockMhz, Scale::kMega, "clock", "memory"},
    Simple{"gpu_clock_hertz", Metric::kVideoClockMhz, Scale::kMega, "clock", "video"},
    Simple{"gpu_max_clock_hertz", Metric::kMaxSmClockMhz, Scale::kMega, "clock", "sm"},
    Simple{"gpu_max_clock_hertz", Metric::kMaxMemoryClockMhz, Scale::kMega, "clock", "memory"},
    Simple{"gpu_pstate", Metric::kPerformanceState},
    Simple{"gpu_pcie_tx_bytes_per_second", Metric::kPcieTxBytesPerSecond},
    Simple{"gpu_pcie_rx_bytes_per_second", Metric::kPcieRxBytesPerSecond},
    Simple{"gpu_nvlink_tx_bytes_total", Metric::kNvlinkTxBytes},
    Simple{"gpu_nvlink_rx_bytes_total", Metric::kNvlinkRxBytes},
};

constexpr std::array kProfiling{
    Simple{"gpu_prof_graphics_active_ratio", Metric::kGraphicsActive},
    Simple{"gpu_prof_sm_active_ratio", Metric::kSmActive},
    Simple{"gpu_prof_sm_occupancy_ratio", Metric::kSmOccupancy},
    Simple{"gpu_prof_tensor_active_ratio", Metric::kTensorActive},
    Simple{"gpu_prof_dram_active_ratio", Metric::kMemoryBandwidthActive},
    Simple{"gpu_prof_fp64_active_ratio", Metric::kFp64Active},
    Simple{"gpu_prof_fp32_active_ratio", Metric::kFp32Active},
    Simple{"gpu_prof_fp16_active_ratio", Metric::kFp16Active},
    Simple{"gpu_context_switch_ratio", Metric::kContextSwitchActive},
};

/// Bits of nvmlClocksEventReasons that keep clocks down.
struct Reason {
    unsigned bit;
    std::string_view word;
};
constexpr std::array<Reason, 8> kReasons{{{0x2, "clock_setting"},
                                          {0x4, "sw_power"},
                                          {0x8, "hw_slowdown"},
                                          {0x10, "sync_boost"},
                                          {0x20, "sw_thermal"},
                                          {0x40, "hw_thermal"},
                                          {0x80, "hw_power_brake"},
                                          {0x100, "display_clock"}}};

void put(Text& text, double value, Scale scale) {
    constexpr double kMillion = 1e6;
    constexpr unsigned kMilliDigits = 3;
    constexpr double kHundred = 100;
    switch (scale) {
        case Scale::kOne:
            return text.is(value);
        case Scale::kMilli:
            return text.is(
                Decimal{static_cast<std::uint64_t>(std::llround(value)), kMilliDigits, false});
        case Scale::kPercent:
            return text.is(value / kHundred);
        case Scale::kMega:
            return text.is(value * kMillion);
    }
}

void write_simple(Text& text, const Simple& simple, std::string_view labels, double value) {
    text.row(labels);
    if (!simple.label.empty()) text.label(simple.label, simple.value);
    if (!simple.second_label.empty()) text.label(simple.second_label, simple.second_value);
    put(text, value, simple.scale);
}

template <class Table>
void write_table(Text& text, const Scene& scene, const Table& table) {
    for (const Simple& simple : table) {
        text.family(simple.family);
        for (const DeviceRow& row : scene.rows.devices) {
            if (!row.fresh) continue;
            if (const auto value = row.device->metrics.amount(simple.metric)) {
                write_simple(text, simple, scene.rows.view(row.names.native), *value);
            }
        }
    }
}

/// Each GPU's own, or under MIG each instance's: never both, a mean would count twice.
void write_profiling(Text& text, const Scene& scene) {
    for (const Simple& simple : kProfiling) {
        text.family(simple.family);
        for (const DeviceRow& row : scene.rows.devices) {
            if (!row.fresh) continue;
            if (!row.cut) {
                if (const auto value = row.device->metrics.amount(simple.metric)) {
                    write_simple(text, simple, scene.rows.view(row.names.native), *value);
                }
                continue;
            }
            for (const PartRow& part : row.parts) {
                if (const auto value = part.part->metrics.amount(simple.metric)) {
                    write_simple(text, simple, scene.rows.view(part.names.native), *value);
                }
            }
        }
    }
}

/// An amount of a GPU or an instance: value * 10^-digits.
struct Total {
    std::string_view family;
    std::optional<std::uint64_t> Amounts::*amount;
    unsigned digits = 0;
    bool counter = false;  // the last value stays when the GPU does not answer
};
constexpr std::array kTotals{
    Total{"gpu_busy_seconds_total", &Amounts::busy_ns, 9, true},
    Total{"gpu_utilization_ratio", &Amounts::utilization_ppm, 6},
    Total{"gpu_memory_used_bytes", &Amounts::memory_bytes},
    Total{"gpu_power_watts", &Amounts::power_milliwatts, 3},
    Total{"gpu_energy_joules_total", &Amounts::energy_millijoules, 3, true},
};
constexpr std::array kInstanceTotals{
    Total{"gpu_instance_busy_seconds_total", &Amounts::busy_ns, 9, true},
    Total{"gpu_instance_utilization_ratio", &Amounts::utilization_ppm, 6},
    Total{"gpu_instance_memory_used_bytes", &Amounts::memory_bytes},
};
constexpr std::array kInstanceMetrics{
    Simple{"gpu_instance_memory_total_bytes", Metric::kMemoryTotalBytes},
    Simple{"gpu_instance_memory_free_bytes", Metric::kMemoryFreeBytes},
};

void write_totals(Text& text, const Scene& scene) {
    for (const Total& total : kTotals) {
        text.family(total.family);
        for (const DeviceRow& row : scene.rows.devices) {
            const auto& value = row.device->total.*total.amount;
            if (!value || (!row.fresh && !total.counter)) continue;
            text.row(scene.rows.view(row.names.native)).is(Decimal{*value, total.digits, false});
        }
    }
    text.family("gpu_memory_busy_seconds_total");
    for (const DeviceRow& row : scene.rows.devices) {
        if (!row.device->memory_busy_known) continue;
        text.row(scene.rows.view(row.names.native))
            .is(Decimal{row.device->memory_busy_ns, kNanoDigits, false});
    }
    text.family("gpu_power_limit_watts");
    for (const DeviceRow& row : scene.rows.devices) {
        auto limit = row.device->metrics.amount(Metric::kEnforcedPowerLimitMilliwatts);
        if (!limit) limit = row.device->metrics.amount(Metric::kPowerLimitMilliwatts);
        if (!limit || !row.fresh) continue;
        text.row(scene.rows.view(row.names.native));
        put(text, *limit, Scale::kMilli);
    }
}

void write_throttling(Text& text, const Scene& scene) {
    text.family("gpu_throttle_seconds_total");
    for (const DeviceRow& row : scene.rows.devices) {
        for (const auto& [reason, ns] : row.device->throttled_ns) {
            text.row(scene.rows.view(row.names.native))
                .label("reason", reason)
                .is(Decimal{ns, kNanoDigits, false});
        }
    }
    text.family("gpu_throttle_active");
    for (const DeviceRow& row : scene.rows.devices) {
        const auto bits = row.device->metrics.amount(Metric::kClockEventReasons);
        if (!row.fresh || !bits) continue;
        const auto set = static_cast<std::uint64_t>(*bits);
        for (const Reason& reason : kReasons) {
            text.row(scene.rows.view(row.names.native))
                .label("reason", reason.word)
                .is((set & reason.bit) != 0 ? 1U : 0U);
        }
    }
}

void write_instances(Text& text, const Scene& scene) {
    for (const Total& total : kInstanceTotals) {
        text.family(total.family);
        for (const DeviceRow& row : scene.rows.devices) {
            for (const PartRow& part : row.parts) {
                const auto& value = part.part->total.*total.amount;
                if (!row.cut || !value || (!row.fresh && !total.counter)) continue;
                text.row(scene.rows.view(part.names.native))
                    .is(Decimal{*value, total.digits, false});
            }
        }
    }
    for (const Simple& simple : kInstanceMetrics) {
        text.family(simple.family);
        for (const DeviceRow& row : scene.rows.devices) {
            for (const PartRow& part : row.parts) {
                const auto value = part.part->metrics.amount(simple.metric);
                if (!row.cut || !row.fresh || !value) continue;
                write_simple(text, simple, scene.rows.view(part.names.native), *value);
            }
        }
    }
}

}  // namespace

void write_gpus(Text& text, const Scene& scene) {
    write_table(text, scene, kFaults);
    write_totals(text, scene);
    write_table(text, scene, kUse);
    write_throttling(text, scene);
    write_profiling(text, scene);
    write_instances(text, scene);
}

}  // namespace aliquot::exposition
