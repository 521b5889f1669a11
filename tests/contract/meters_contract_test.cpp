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
using gpu::Metric;
using namespace std::chrono_literals;
using testing::IsEmpty;

using Wanted = std::vector<Metric>;

// What every GPU of our time tells, cut or not.
const Wanted kAlways = {Metric::kSmClockMhz,
                        Metric::kMemoryClockMhz,
                        Metric::kVideoClockMhz,
                        Metric::kMaxSmClockMhz,
                        Metric::kMaxMemoryClockMhz,
                        Metric::kTemperatureCelsius,
                        Metric::kSlowdownCelsius,
                        Metric::kShutdownCelsius,
                        Metric::kPowerMilliwatts,
                        Metric::kPowerLimitMilliwatts,
                        Metric::kEnforcedPowerLimitMilliwatts,
                        Metric::kPcieReplays,
                        Metric::kMemoryTotalBytes,
                        Metric::kMemoryUsedBytes,
                        Metric::kMemoryFreeBytes,
                        Metric::kMemoryReservedBytes,
                        Metric::kBar1TotalBytes,
                        Metric::kBar1UsedBytes,
                        Metric::kThrottlePowerNs,
                        Metric::kThrottleThermalNs,
                        Metric::kThrottleSyncBoostNs,
                        Metric::kThrottleBoardLimitNs,
                        Metric::kThrottleLowUtilizationNs,
                        Metric::kThrottleReliabilityNs,
                        Metric::kClockEventReasons,
                        Metric::kPerformanceState,
                        Metric::kPcieGeneration,
                        Metric::kPcieWidth,
                        Metric::kMaxPcieGeneration,
                        Metric::kMaxPcieWidth,
                        Metric::kDefaultPowerLimitMilliwatts};
const Wanted kUncut = {Metric::kGpuBusyPercent, Metric::kMemoryBusyPercent, Metric::kEncoderPercent,
                       Metric::kDecoderPercent};
const Wanted kEnergy = {Metric::kEnergyMillijoules};
const Wanted kEcc = {Metric::kEccCorrectedVolatile, Metric::kEccUncorrectedVolatile,
                     Metric::kEccCorrectedAggregate, Metric::kEccUncorrectedAggregate};
const Wanted kRows = {Metric::kRemappedRowsCorrected, Metric::kRemappedRowsUncorrected,
                      Metric::kRowRemapPending, Metric::kRowRemapFailed};
const Wanted kPages = {Metric::kRetiredPagesCorrected, Metric::kRetiredPagesUncorrected,
                       Metric::kRetiredPagesPending};
const Wanted kNvlink = {Metric::kNvlinkTxBytes, Metric::kNvlinkRxBytes, Metric::kNvlinkErrors};
const Wanted kMonitored = {Metric::kGraphicsActive,
                           Metric::kSmActive,
                           Metric::kSmOccupancy,
                           Metric::kTensorActive,
                           Metric::kMemoryBandwidthActive,
                           Metric::kFp64Active,
                           Metric::kFp32Active,
                           Metric::kFp16Active,
                           Metric::kPcieTxBytesPerSecond,
                           Metric::kPcieRxBytesPerSecond,
                           Metric::kContextSwitchActive};
const Wanted kAmpere = {Metric::kPowerInstantMilliwatts, Metric::kThrottleSoftwareThermalNs,
                        Metric::kThrottleHardwareThermalNs, Metric::kThrottlePowerBrakeNs};
const Wanted kFan = {Metric::kFanPercent};
const Wanted kHbm = {Metric::kMemoryTemperatureCelsius};

Wanted operator+(Wanted left, const Wanted& right) {
    left.insert(left.end(), right.begin(), right.end());
    return left;
}

struct Model {
    const char* name;
    const char* request;
    const char* layout;  // of its MIG; nullptr: not cut
    Wanted metrics;      // besides kAlways
};

void PrintTo(const Model& model, std::ostream* out) { *out << model.name; }

class MetricsOf : public testing::TestWithParam<Model> {};

TEST_P(MetricsOf, AreThoseItReportsAndNoOthers) {
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
    const Wanted wanted = kAlways + model.metrics;
    for (std::size_t i = 0; i < gpu::kMetricCount; ++i) {
        const auto metric = static_cast<Metric>(i);
        // A recovery action is told by some drivers of any GPU.
        if (metric == Metric::kRecoveryAction) continue;
        const bool told = reading->metrics.get(metric).has_value();
        EXPECT_EQ(told, std::ranges::find(wanted, metric) != wanted.end()) << "figure " << i;
    }
    EXPECT_EQ(reading->gpu_busy.has_value(), model.layout == nullptr);
    EXPECT_EQ(reading->memory_busy.has_value(), model.layout == nullptr);
    EXPECT_EQ(reading->uses.has_value(), model.layout == nullptr);
    EXPECT_TRUE(reading->processes.has_value());
}

INSTANTIATE_TEST_SUITE_P(
    Models, MetricsOf,
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
    EXPECT_EQ(reading.metrics.get(Metric::kMemoryTotalBytes),
              static_cast<double>(gpu.memory_bytes));
    EXPECT_LE(reading.metrics.get(Metric::kMemoryUsedBytes),
              reading.metrics.get(Metric::kMemoryTotalBytes));
    EXPECT_LE(reading.metrics.get(Metric::kTemperatureCelsius).value_or(0), 200);
    EXPECT_LE(reading.metrics.get(Metric::kGpuBusyPercent).value_or(0), 100);
    for (const auto metric : kMonitored) {
        const auto value = reading.metrics.get(metric);
        if (value) {
            EXPECT_GE(*value, 0) << static_cast<int>(metric);
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
