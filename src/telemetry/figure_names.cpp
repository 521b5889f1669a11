// SPDX-License-Identifier: Apache-2.0
#include "telemetry/figure_names.h"

#include <algorithm>
#include <array>
#include <iterator>

namespace aliquot::telemetry {
namespace {

/// In the order of gpu::Figure.
constexpr std::array<std::string_view, gpu::kFigures> kNames{
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
};
static_assert(!kNames.back().empty(), "a figure has no name");

}  // namespace

std::string_view name_of(gpu::Figure figure) { return kNames.at(static_cast<std::size_t>(figure)); }

std::optional<gpu::Figure> figure_named(std::string_view name) {
    const auto* const found = std::ranges::find(kNames, name);
    if (found == kNames.end()) return std::nullopt;
    return static_cast<gpu::Figure>(std::distance(kNames.begin(), found));
}

}  // namespace aliquot::telemetry
