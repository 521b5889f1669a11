// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "sim/node/model.h"
#include "sim/node/state.h"

namespace aliquot::sim {

/// What runs on one GPU, added up.
struct Load {
    std::uint64_t memory_bytes = 0;  // of processes
    unsigned processes = 0;
    unsigned sm_percent = 0;      // 0 to 100
    unsigned memory_percent = 0;  // of the time, not of the space; 0 to 100
};

/// What the sensors of a GPU show.
struct Figures {
    std::uint64_t power_milliwatts = 0;
    unsigned celsius = 0;
    unsigned memory_celsius = 0;
    unsigned graphics_mhz = 0;
    unsigned memory_mhz = 0;
    unsigned video_mhz = 0;
    unsigned performance_state = 0;
    unsigned fan_percent = 0;
    std::uint64_t clock_reasons = 0;  // NVML clocks event reasons
    std::uint64_t pcie_tx_kib_per_second = 0;
    std::uint64_t pcie_rx_kib_per_second = 0;
};

// NVML clocks event reasons that a load or a fault brings about.
inline constexpr std::uint64_t kReasonIdle = 0x1;
inline constexpr std::uint64_t kReasonClockSetting = 0x2;
inline constexpr std::uint64_t kReasonPowerCap = 0x4;
inline constexpr std::uint64_t kReasonSyncBoost = 0x10;
inline constexpr std::uint64_t kReasonThermal = 0x20;
inline constexpr std::uint64_t kReasonHardwareThermal = 0x40;
inline constexpr std::uint64_t kReasonPowerBrake = 0x80;

/// Sensors follow the load: settled values, no noise and no inertia, so that a test can compute
/// them.
Figures figures_of(const Model& model, const GpuState& gpu, const Load& load);

/// How busy memory is when the multiprocessors are, in the same unit: a memory-hungry kernel, as
/// most are.
constexpr std::uint32_t memory_share(std::uint32_t busy) { return busy * 6 / 10; }

}  // namespace aliquot::sim
