// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <span>

#include "gpu/meters.h"

namespace aliquot::telemetry {

/// How long something was busy in a stretch of time.
struct BusyStretch {
    std::uint64_t busy_ns = 0;
    std::uint64_t span_ns = 0;  // that it was looked at; 0: nothing new is known
};

/// Turns the driver's samples into busy time: a sample stands for the time since the one before.
class BusySamples {
public:
    /// elapsed   since the look before: a sample never stands for more than that and one sampling
    ///           period, so that a pause of the sampler is not made up
    /// unread    since the last look that brought samples: all of them never stand for more
    BusyStretch take(std::span<const gpu::BusySample> samples, std::chrono::nanoseconds elapsed,
                     std::chrono::nanoseconds unread);

    [[nodiscard]] std::uint64_t newest_us() const { return newest_us_; }

private:
    std::uint64_t newest_us_ = 0;
};

/// The same for processes: GPU time by pid.
class ProcessUses {
public:
    /// stretch   of the whole GPU in the same time, where it is known: both come from the same
    ///           sampling, so a process that is new is counted from where the GPU's stretch began
    std::map<std::uint32_t, std::uint64_t> take(std::span<const gpu::ProcessUse> uses,
                                                std::chrono::nanoseconds elapsed);

    /// What has been seen: to be asked for what is newer. `gpu_newest_us` moves it on while no
    /// process is busy.
    void seen_until(std::uint64_t gpu_newest_us);
    [[nodiscard]] std::uint64_t newest_us() const { return newest_us_; }

private:
    std::uint64_t newest_us_ = 0;
};

/// Longest time between two samples of a driver (NVML: 1/6 s to 1 s).
inline constexpr std::chrono::nanoseconds kSamplingPeriod = std::chrono::seconds(1);

}  // namespace aliquot::telemetry
