// SPDX-License-Identifier: Apache-2.0
#include "telemetry/metric_names.h"

#include <algorithm>
#include <array>
#include <iterator>

namespace aliquot::telemetry {
namespace {

/// In the order of gpu::Metric.
constexpr std::array<std::string_view, gpu::kMetricCount> kNames{
    "smClockMhz",
    "memoryClockMhz",
    "videoClockMhz",
    "maxSmClockMhz",
    "maxMemoryClockMhz",
    "temperatureCelsius",
    "memoryTemperatureCelsius",
    "slowdownCelsius",
    "shutdownCelsius",
    "powerMilliwatts",
    "powerInstantMilliwatts",
    "powerLimitMilliwatts",
    "enforcedPowerLimitMilliwatts",
    "energyMillijoules",
    "pcieReplays",
    "gpuBusyPercent",
    "memoryBusyPercent",
    "encoderPercent",
    "decoderPercent",
    "memoryTotalBytes",
    "memoryUsedBytes",
    "memoryFreeBytes",
    "memoryReservedBytes",
    "bar1TotalBytes",
    "bar1UsedBytes",
    "nvlinkTxBytes",
    "nvlinkRxBytes",
    "nvlinkErrors",
    "eccCorrectedVolatile",
    "eccUncorrectedVolatile",
    "eccCorrectedAggregate",
    "eccUncorrectedAggregate",
    "retiredPagesCorrected",
    "retiredPagesUncorrected",
    "retiredPagesPending",
    "remappedRowsCorrected",
    "remappedRowsUncorrected",
    "rowRemapPending",
    "rowRemapFailed",
    "throttlePowerNs",
    "throttleThermalNs",
    "throttleSyncBoostNs",
    "throttleBoardLimitNs",
    "throttleLowUtilizationNs",
    "throttleReliabilityNs",
    "throttleSoftwareThermalNs",
    "throttleHardwareThermalNs",
    "throttlePowerBrakeNs",
    "clockEventReasons",
    "performanceState",
    "fanPercent",
    "recoveryAction",
    "vgpuLicensed",
    "graphicsActive",
    "smActive",
    "smOccupancy",
    "tensorActive",
    "memoryBandwidthActive",
    "fp64Active",
    "fp32Active",
    "fp16Active",
    "pcieTxBytesPerSecond",
    "pcieRxBytesPerSecond",
    "contextSwitchActive",
    "pcieGeneration",
    "pcieWidth",
    "maxPcieGeneration",
    "maxPcieWidth",
    "defaultPowerLimitMilliwatts",
};
static_assert(!kNames.back().empty(), "a metric has no name");

}  // namespace

std::string_view name_of(gpu::Metric metric) { return kNames.at(static_cast<std::size_t>(metric)); }

std::optional<gpu::Metric> metric_named(std::string_view name) {
    const auto* const found = std::ranges::find(kNames, name);
    if (found == kNames.end()) return std::nullopt;
    return static_cast<gpu::Metric>(std::distance(kNames.begin(), found));
}

}  // namespace aliquot::telemetry
