// SPDX-License-Identifier: Apache-2.0
//
// What every gpu::Meters promises, asked of nvml::Meters over the simulated libnvidia-ml.so.1. With
// ALIQUOT_CONTRACT_DRIVER_ROOT set, the questions that change nothing are also put to the driver
// installed there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cctype>
#include <cstdlib>
#include <optional>
#include <set>
#include <thread>

#include "gpu/meters.h"
#include "nvml/meters.h"
#include "tests/contract/metered_world.h"

namespace aliquot {
namespace {

using contract::MeteredWorld;
using gpu::Figure;
using namespace std::chrono_literals;
using testing::IsEmpty;

using Wanted = std::vector<Figure>;

// What every GPU of our time tells, cut or not.
const Wanted kAlways = {Figure::kSmClockMhz,
                        Figure::kMemoryClockMhz,
                        Figure::kVideoClockMhz,
                        Figure::kMaxSmClockMhz,
                        Figure::kMaxMemoryClockMhz,
                        Figure::kTemperatureCelsius,
                        Figure::kSlowdownCelsius,
                        Figure::kShutdownCelsius,
                        Figure::kPowerMilliwatts,
                        Figure::kPowerLimitMilliwatts,
                        Figure::kEnforcedPowerLimitMilliwatts,
                        Figure::kPcieReplays,
                        Figure::kMemoryTotalBytes,
                        Figure::kMemoryUsedBytes,
                        Figure::kMemoryFreeBytes,
                        Figure::kMemoryReservedBytes,
                        Figure::kBar1TotalBytes,
                        Figure::kBar1UsedBytes,
                        Figure::kThrottlePowerNs,
                        Figure::kThrottleThermalNs,
                        Figure::kThrottleSyncBoostNs,
                        Figure::kThrottleBoardLimitNs,
                        Figure::kThrottleLowUtilizationNs,
                        Figure::kThrottleReliabilityNs,
                        Figure::kClockEventReasons,
                        Figure::kPerformanceState};
const Wanted kUncut = {Figure::kGpuBusyPercent, Figure::kMemoryBusyPercent, Figure::kEncoderPercent,
                       Figure::kDecoderPercent};
const Wanted kEnergy = {Figure::kEnergyMillijoules};
const Wanted kEcc = {Figure::kEccCorrectedVolatile, Figure::kEccUncorrectedVolatile,
                     Figure::kEccCorrectedAggregate, Figure::kEccUncorrectedAggregate};
const Wanted kRows = {Figure::kRemappedRowsCorrected, Figure::kRemappedRowsUncorrected,
                      Figure::kRowRemapPending, Figure::kRowRemapFailed};
const Wanted kPages = {Figure::kRetiredPagesCorrected, Figure::kRetiredPagesUncorrected,
                       Figure::kRetiredPagesPending};
const Wanted kNvlink = {Figure::kNvlinkTxBytes, Figure::kNvlinkRxBytes, Figure::kNvlinkErrors};
const Wanted kMonitored = {Figure::kGraphicsActive,
                           Figure::kSmActive,
                           Figure::kSmOccupancy,
                           Figure::kTensorActive,
                           Figure::kMemoryBandwidthActive,
                           Figure::kFp64Active,
                           Figure::kFp32Active,
                           Figure::kFp16Active,
                           Figure::kPcieTxBytesPerSecond,
                           Figure::kPcieRxBytesPerSecond,
                           Figure::kContextSwitchActive};
const Wanted kAmpere = {Figure::kPowerInstantMilliwatts, Figure::kThrottleSoftwareThermalNs,
                        Figure::kThrottleHardwareThermalNs, Figure::kThrottlePowerBrakeNs};
const Wanted kFan = {Figure::kFanPercent};
const Wanted kHbm = {Figure::kMemoryTemperatureCelsius};

Wanted operator+(Wanted left, const Wanted& right) {
    left.insert(left.end(), right.begin(), right.end());
    return left;
}

struct Model {
    const char* name;
    const char* request;
    const char* layout;  // of its MIG; nullptr: not cut
    Wanted figures;      // besides kAlways
};

void PrintTo(const Model& model, std::ostream* out) { *out << model.name; }

class FiguresOf : public testing::TestWithParam<Model> {};

TEST_P(FiguresOf, AreThoseItReportsAndNoOthers) {
    const Model& model = GetParam();
    MeteredWorld world(model.request);
    if (model.layout != nullptr) {
        ASSERT_TRUE(world.node().cut(0, model.layout));
    }
    ASSERT_TRUE(world.look(0));
    world.pass(150ms);  // averages want two readings
    const auto reading = world.look(0);
    ASSERT_TRUE(reading) << reading.error().message;
    EXPECT_THAT(reading->failures, IsEmpty());
    const Wanted wanted = kAlways + model.figures;
    for (std::size_t i = 0; i < gpu::kFigures; ++i) {
        const auto figure = static_cast<Figure>(i);
        // A recovery action is told by some drivers of any GPU.
        if (figure == Figure::kRecoveryAction) continue;
        const bool told = reading->figures.get(figure).has_value();
        EXPECT_EQ(told, std::ranges::find(wanted, figure) != wanted.end()) << "figure " << i;
    }
    EXPECT_EQ(reading->gpu_busy.has_value(), model.layout == nullptr);
    EXPECT_EQ(reading->memory_busy.has_value(), model.layout == nullptr);
    EXPECT_EQ(reading->uses.has_value(), model.layout == nullptr);
    EXPECT_TRUE(reading->processes.has_value());
}

INSTANTIATE_TEST_SUITE_P(
    Models, FiguresOf,
    testing::Values(Model{"a2", "a2:1", nullptr, kUncut + kEnergy + kEcc + kRows + kAmpere},
                    Model{"a100", "a100-40:2", nullptr,
                          kUncut + kEnergy + kEcc + kRows + kAmpere + kNvlink + kHbm},
                    Model{"a100_cut", "a100-40:1", "3g.20gb,1g.5gb*2",
                          kEnergy + kEcc + kRows + kAmpere + kNvlink + kHbm},
                    Model{"h100", "h100-80:2", nullptr,
                          kUncut + kEnergy + kEcc + kRows + kAmpere + kNvlink + kHbm + kMonitored},
                    Model{"h100_cut", "h100-80:1", "1g.10gb*7",
                          kEnergy + kEcc + kRows + kAmpere + kNvlink + kHbm + kMonitored},
                    Model{"t4", "t4:1", nullptr, kUncut + kEnergy + kEcc + kPages},
                    Model{"gtx_1070", "gtx-1070:1", nullptr, kUncut + kFan}),
    [](const auto& test) { return std::string(test.param.name); });

void check_reading(const gpu::Reading& reading, const gpu::Gpu& gpu) {
    EXPECT_EQ(reading.figures.get(Figure::kMemoryTotalBytes),
              static_cast<double>(gpu.memory_bytes));
    EXPECT_LE(reading.figures.get(Figure::kMemoryUsedBytes),
              reading.figures.get(Figure::kMemoryTotalBytes));
    EXPECT_LE(reading.figures.get(Figure::kTemperatureCelsius).value_or(0), 200);
    EXPECT_LE(reading.figures.get(Figure::kGpuBusyPercent).value_or(0), 100);
    for (const auto figure : kMonitored) {
        const auto value = reading.figures.get(figure);
        if (value) {
            EXPECT_GE(*value, 0) << static_cast<int>(figure);
        }
    }
    if (gpu.mig_enabled) return;
    for (const auto& use : reading.uses.value_or(std::vector<gpu::ProcessUse>{})) {
        EXPECT_LE(use.sm_percent, 100U);
    }
    EXPECT_TRUE(reading.instances.empty());
}

TEST(Meters, ReadTheInstalledDriver) {
    const char* const place =
        std::getenv("ALIQUOT_CONTRACT_DRIVER_ROOT");  // NOLINT(concurrency-mt-unsafe)
    if (place == nullptr) GTEST_SKIP() << "ALIQUOT_CONTRACT_DRIVER_ROOT is not set";
    const os::Root host;
    auto driver = nvml::Driver::open(host, {.driver_root = place});
    auto meters = nvml::Meters::open(host, {.driver_root = place});
    ASSERT_TRUE(driver && meters);
    const auto inventory = (*driver)->enumerate();
    ASSERT_TRUE(inventory) << inventory.error().message;
    std::vector<gpu::MeterQuestion> questions;
    for (const auto& gpu : inventory->gpus) questions.push_back({gpu.uuid, {}});
    ASSERT_EQ((*meters)->read(questions, 30s).size(), questions.size());
    std::this_thread::sleep_for(1200ms);
    const auto readings = (*meters)->read(questions, 30s);
    for (std::size_t i = 0; i < readings.size(); ++i) {
        ASSERT_TRUE(readings[i]) << readings[i].error().message;
        check_reading(*readings[i], inventory->gpus[i]);
    }
    (*meters)->release();
}

}  // namespace
}  // namespace aliquot
