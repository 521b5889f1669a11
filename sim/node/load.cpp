// SPDX-License-Identifier: Apache-2.0
#include "sim/node/load.h"

#include <algorithm>

namespace aliquot::sim {
namespace {

constexpr unsigned kRoomCelsius = 27;
constexpr unsigned kFullLoadRiseCelsius = 46;  // above the room at the power limit

std::uint64_t power_of(const Model& model, const GpuState& gpu, const Load& load, bool& capped) {
    const std::uint64_t idle = std::uint64_t{model.power_idle_watts} * 1000;
    const std::uint64_t full = std::uint64_t{model.power_default_watts} * 960;  // busy, 96 % of it
    std::uint64_t power = idle;
    if (load.processes > 0) {
        const std::uint64_t awake = idle + (full - idle) / 10;  // clocks are up, nothing runs
        power = awake + (full - awake) * std::min(load.sm_percent, 100U) / 100;
    }
    const std::uint64_t limit = gpu.power_limit_milliwatts;
    capped = limit != 0 && power > limit;
    return capped ? limit : power;
}

unsigned temperature_of(const Model& model, const GpuState& gpu, std::uint64_t power) {
    if (gpu.fault.temperature != 0) return gpu.fault.temperature;
    const std::uint64_t full = std::uint64_t{model.power_default_watts} * 1000;
    return kRoomCelsius + static_cast<unsigned>(kFullLoadRiseCelsius * power / full);
}

}  // namespace

Figures figures_of(const Model& model, const GpuState& gpu, const Load& load) {
    Figures figures;
    bool capped = false;
    figures.power_milliwatts = power_of(model, gpu, load, capped);
    figures.celsius = temperature_of(model, gpu, figures.power_milliwatts);
    figures.memory_celsius = figures.celsius + 4;

    const bool awake = load.processes > 0;
    figures.performance_state = awake ? 0 : model.idle_state;
    figures.graphics_mhz = awake ? model.graphics_mhz : model.idle_graphics_mhz;
    figures.memory_mhz = awake ? model.memory_mhz : model.idle_memory_mhz;
    figures.video_mhz = awake ? model.video_mhz : std::min(model.video_mhz, 555U);

    std::uint64_t reasons = gpu.fault.throttle;
    if (!awake) reasons |= kReasonIdle;
    if (capped) reasons |= kReasonPowerCap;
    if (figures.celsius >= model.slowdown_celsius)
        reasons |= kReasonHardwareThermal;
    else if (figures.celsius > model.max_celsius)
        reasons |= kReasonThermal;
    if (gpu.graphics_clock_limit_mhz != 0 && figures.graphics_mhz > gpu.graphics_clock_limit_mhz) {
        figures.graphics_mhz = gpu.graphics_clock_limit_mhz;
        reasons |= kReasonClockSetting;
    }
    figures.clock_reasons = reasons;
    // Whatever slows the clocks down for a bad reason halves them.
    if (awake && (reasons & ~(kReasonIdle | kReasonClockSetting | kReasonPowerCap)) != 0) {
        figures.graphics_mhz = std::max(figures.graphics_mhz / 2, model.idle_graphics_mhz);
    }
    if (model.fans > 0) {
        figures.fan_percent =
            figures.celsius < 50 ? 0 : std::min(100U, 30 + (figures.celsius - 50) * 2);
    }
    // A tenth of what the slot can carry when the GPU is busy all the time.
    const std::uint64_t slot_kib =
        (std::uint64_t{model.pcie_width} << model.pcie_generation) * 122'070;
    figures.pcie_rx_kib_per_second = slot_kib * load.sm_percent / 1000;
    figures.pcie_tx_kib_per_second = figures.pcie_rx_kib_per_second / 4;
    return figures;
}

}  // namespace aliquot::sim
