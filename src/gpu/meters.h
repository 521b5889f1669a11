// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "gpu/inventory.h"

namespace aliquot::gpu {

/// One number that a GPU (or a MIG GPU instance) reports. The comment gives unit, range and where
/// NVML has it; "F n" is nvmlDeviceGetFieldValues, "G n" a GPM metric (Hopper and newer). Counters
/// only grow until the driver is reloaded.
enum class Metric : std::uint8_t {
    kSmClockMhz,                    // nvmlDeviceGetClockInfo(SM)
    kMemoryClockMhz,                // nvmlDeviceGetClockInfo(MEM)
    kVideoClockMhz,                 // nvmlDeviceGetClockInfo(VIDEO)
    kMaxSmClockMhz,                 // nvmlDeviceGetMaxClockInfo(SM)
    kMaxMemoryClockMhz,             // nvmlDeviceGetMaxClockInfo(MEM)
    kTemperatureCelsius,            // nvmlDeviceGetTemperature(GPU); above 200 is no answer
    kMemoryTemperatureCelsius,      // F 82
    kSlowdownCelsius,               // nvmlDeviceGetTemperatureThreshold(SLOWDOWN)
    kShutdownCelsius,               // nvmlDeviceGetTemperatureThreshold(SHUTDOWN)
    kPowerMilliwatts,               // nvmlDeviceGetPowerUsage; a 1 s average on Ampere and newer
    kPowerInstantMilliwatts,        // F 186
    kPowerLimitMilliwatts,          // nvmlDeviceGetPowerManagementLimit
    kEnforcedPowerLimitMilliwatts,  // nvmlDeviceGetEnforcedPowerLimit
    kEnergyMillijoules,  // counter; nvmlDeviceGetTotalEnergyConsumption (Volta and newer)
    kPcieReplays,        // counter; nvmlDeviceGetPcieReplayCounter
    kGpuBusyPercent,     // 0..100; nvmlDeviceGetUtilizationRates.gpu; not under MIG
    kMemoryBusyPercent,  // 0..100; time, not space
    kEncoderPercent,     // 0..100; nvmlDeviceGetEncoderUtilization
    kDecoderPercent,     // 0..100
    kMemoryTotalBytes,   // nvmlDeviceGetMemoryInfo_v2; of an instance: its own
    kMemoryUsedBytes,    // without what is reserved
    kMemoryFreeBytes,
    kMemoryReservedBytes,  // absent from drivers before 510
    kBar1TotalBytes,
    kBar1UsedBytes,
    kNvlinkTxBytes,           // counter; F 138, all links
    kNvlinkRxBytes,           // counter; F 139
    kNvlinkErrors,            // counter; CRC flit, CRC data, replay, recovery of all links together
    kEccCorrectedVolatile,    // counter; F 3
    kEccUncorrectedVolatile,  // counter; F 4
    kEccCorrectedAggregate,   // counter over the board's life; F 5
    kEccUncorrectedAggregate,  // F 6
    kRetiredPagesCorrected,    // F 29, before Ampere
    kRetiredPagesUncorrected,  // F 30
    kRetiredPagesPending,      // 0 or 1; F 31
    kRemappedRowsCorrected,    // F 142, Ampere and newer
    kRemappedRowsUncorrected,  // F 143
    kRowRemapPending,          // 0 or 1; F 144
    kRowRemapFailed,           // 0 or 1; F 145
    kThrottlePowerNs,          // counters, nanoseconds; F 74..79
    kThrottleThermalNs,
    kThrottleSyncBoostNs,
    kThrottleBoardLimitNs,
    kThrottleLowUtilizationNs,
    kThrottleReliabilityNs,
    kThrottleSoftwareThermalNs,  // counter; F 269
    kThrottleHardwareThermalNs,  // counter; F 270
    kThrottlePowerBrakeNs,       // counter; F 271
    kClockEventReasons,          // bits of nvmlClocksEventReasons
    kPerformanceState,           // 0 fastest .. 15
    kFanPercent,                 // 0..100
    kRecoveryAction,             // F 230, see gpu::Probe
    kVgpuLicensed,               // 0 or 1; absent where there is no vGPU
    kGraphicsActive,             // 0..1; G 1, average (so are all G)
    kSmActive,                   // 0..1; G 2
    kSmOccupancy,                // 0..1; G 3
    kTensorActive,               // 0..1; G 5
    kMemoryBandwidthActive,      // 0..1; G 10
    kFp64Active,                 // 0..1; G 11
    kFp32Active,                 // 0..1; G 12
    kFp16Active,                 // 0..1; G 13
    kPcieTxBytesPerSecond,       // G 20
    kPcieRxBytesPerSecond,       // G 21
    kContextSwitchActive,        // 0..1; time lost to switching between contexts; G 174
    kPcieGeneration,             // nvmlDeviceGetCurrPcieLinkGeneration; falls while the GPU is idle
    kPcieWidth,                  // lanes; nvmlDeviceGetCurrPcieLinkWidth
    kMaxPcieGeneration,          // of this GPU in this slot
    kMaxPcieWidth,
    kDefaultPowerLimitMilliwatts,  // nvmlDeviceGetPowerManagementDefaultLimit
    kCount
};
inline constexpr std::size_t kMetricCount = static_cast<std::size_t>(Metric::kCount);

/// What of them is known. A metric that the GPU does not report, or that could not be read this
/// time, is absent: never 0.
class MetricValues {
public:
    [[nodiscard]] std::optional<double> get(Metric metric) const {
        const auto place = static_cast<std::size_t>(metric);
        if ((known_[place / 64] >> (place % 64) & 1U) == 0) return std::nullopt;
        return values_[place];
    }
    /// As get(), of what cannot be negative: empty also for what is, and for no number at all.
    [[nodiscard]] std::optional<double> amount(Metric metric) const {
        const auto value = get(metric);
        if (!value || !std::isfinite(*value) || *value < 0) return std::nullopt;
        return value;
    }
    /// amount() without what is behind the point.
    [[nodiscard]] std::optional<std::uint64_t> whole(Metric metric) const {
        constexpr double kTooMuch = 0x1p64;
        const auto value = amount(metric);
        if (!value || *value >= kTooMuch) return std::nullopt;
        return static_cast<std::uint64_t>(*value);
    }
    void set(Metric metric, double value) {
        const auto place = static_cast<std::size_t>(metric);
        values_[place] = value;
        known_[place / 64] |= std::uint64_t{1} << (place % 64);
    }
    friend bool operator==(const MetricValues&, const MetricValues&) = default;

private:
    std::array<double, kMetricCount> values_{};  // exact for integers up to 2^53
    std::array<std::uint64_t, (kMetricCount + 63) / 64> known_{};
};

/// How busy something was at a moment by the driver's own sampling.
struct BusySample {
    std::uint64_t at_us = 0;  // the driver's clock
    unsigned percent = 0;     // 0..100
};

/// A process on a GPU. One entry for each (pid, instance), whatever lists it is in. Pids are of the
/// driver's (host) pid namespace.
struct MeteredProcess {
    std::uint32_t pid = 0;
    std::optional<std::uint64_t> memory_bytes;  // empty: the driver does not tell
    bool compute = false;
    bool graphics = false;
    bool mps_client = false;
    std::optional<unsigned> gpu_instance;  // MIG
    std::optional<unsigned> compute_instance;
};

/// How much of the GPU a process used around a moment. Of processes that did nothing there is none.
struct ProcessUse {
    std::uint32_t pid = 0;
    std::uint64_t at_us = 0;  // the driver's clock
    unsigned sm_percent = 0;  // 0..100 of the GPU's time; others filtered out
    unsigned memory_percent = 0;
    unsigned encoder_percent = 0;
    unsigned decoder_percent = 0;
};

/// What one GPU instance of MIG reports of itself.
struct InstanceReading {
    unsigned gpu_instance = 0;
    MetricValues metrics;
    /// Over which its G metrics are averages: since the last reading that came in time. 0: it has
    /// none.
    std::chrono::nanoseconds averaged{0};
};

/// A call that failed where an answer was to be expected ("not supported" is none).
struct FailedCall {
    std::string call;  // "nvmlDeviceGetPowerUsage"
    int code = 0;      // nvmlReturn_t
};

/// All that one look at a GPU gave.
struct Reading {
    MetricValues metrics;
    /// Newer than Since; oldest first. Empty optional: the driver does not keep such samples (MIG,
    /// very old GPUs); empty list: nothing new.
    std::optional<std::vector<BusySample>> gpu_busy;
    std::optional<std::vector<BusySample>> memory_busy;
    std::optional<std::vector<MeteredProcess>> processes;  // empty: could not be listed
    std::optional<std::vector<ProcessUse>> uses;  // newer than Since; empty: not reported (MIG)
    std::vector<InstanceReading> instances;
    std::chrono::nanoseconds averaged{0};  // of `metrics`, as of an instance
    std::vector<FailedCall> failures;
};

/// What the asker has seen already, in the driver's clock; 0: nothing.
struct Since {
    std::uint64_t gpu_busy_us = 0;
    std::uint64_t memory_busy_us = 0;
    std::uint64_t uses_us = 0;
};

struct MeterQuestion {
    Uuid gpu;
    Since since;
};

/// The seam to everything a GPU reports about its use. Thread-safe; one look at a time.
/// Implemented by nvml::Meters; tests/contract asks the simulated and a real driver.
class Meters {
public:
    virtual ~Meters() = default;

    /// Looks at each GPU, all at once. Returns when all have answered, at the latest after
    /// `deadline`. A GPU that hangs keeps only itself waiting: it is answered kUnavailable at once
    /// by later looks, until its call returns.
    /// returns  one Result for each question, in order
    /// errors   kUnavailable: no driver, no answer in time, the GPU is lost; kNotFound: no such GPU
    virtual std::vector<Result<Reading>> read(std::span<const MeterQuestion> questions,
                                              std::chrono::milliseconds deadline) = 0;

    /// Gives the driver back (a GPU that has processes with open devices cannot be reset); the next
    /// read() takes it again.
    virtual void release() = 0;
};

}  // namespace aliquot::gpu
