// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/smi/driver_library.h"

namespace aliquot::sim::smi {

/// Current and pending state of a mode.
struct Modes {
    unsigned current = 0;
    unsigned pending = 0;
};

/// A process on a GPU as the tool shows it.
struct Process {
    std::uint32_t pid = 0;
    std::uint64_t memory_bytes = 0;  // NVML_VALUE_NOT_AVAILABLE: not told
    std::string type;                // "C", "G", "C+G", "M+C"
    std::uint32_t gpu_instance = NVML_NO_INSTANCE;
    std::uint32_t compute_instance = NVML_NO_INSTANCE;
    unsigned sm_percent = 0;
    unsigned memory_percent = 0;
    bool has_load = false;
};

/// A MIG device as the tool shows it.
struct Device {
    unsigned index = 0;
    std::string profile;  // "1c.3g.20gb"
    std::string uuid;
    unsigned gpu_instance = 0;
    unsigned compute_instance = 0;
    nvmlMemory_t memory{};
    std::uint64_t reserved_bytes = 0;  // by the driver, of its memory
    nvmlBAR1Memory_t bar1{};
    nvmlDeviceAttributes_t attributes{};
};

/// One GPU, asked when its figures are printed. A GPU without a handle answers every question with
/// the reason.
class Gpu {
public:
    Gpu(const DriverLibrary& library, unsigned index);

    [[nodiscard]] unsigned index() const { return index_; }
    [[nodiscard]] nvmlReturn_t problem() const { return problem_; }
    [[nodiscard]] nvmlDevice_t handle() const { return handle_; }
    [[nodiscard]] const DriverLibrary& library() const { return library_; }
    /// Whether a user's "-i" means this GPU: index, UUID or bus id in any usual spelling.
    [[nodiscard]] bool is_named(const std::string& name) const;

    [[nodiscard]] Reading<std::string> name() const;
    [[nodiscard]] Reading<std::string> uuid() const;
    [[nodiscard]] Reading<std::string> serial() const;
    [[nodiscard]] Reading<std::string> vbios() const;
    [[nodiscard]] Reading<std::string> part_number() const;
    [[nodiscard]] Reading<nvmlPciInfo_t> pci() const;
    [[nodiscard]] Reading<std::string> bus_id() const;  // "00000000:3B:00.0"
    [[nodiscard]] Reading<nvmlMemory_v2_t> memory() const;
    [[nodiscard]] Reading<nvmlBAR1Memory_t> bar1() const;
    [[nodiscard]] Reading<nvmlUtilization_t> utilization() const;
    [[nodiscard]] Reading<Modes> ecc_mode() const;
    [[nodiscard]] Reading<Modes> mig_mode() const;
    [[nodiscard]] Reading<std::string> compute_capability() const;
    [[nodiscard]] Reading<std::uint64_t> ecc_errors(nvmlMemoryErrorType_t type,
                                                    nvmlEccCounterType_t counter) const;
    [[nodiscard]] Reading<std::uint64_t> clock_reasons() const;

    // Numbers that NVML gives as unsigned int.
    [[nodiscard]] Reading<unsigned> minor() const;
    [[nodiscard]] Reading<unsigned> temperature() const;
    [[nodiscard]] Reading<unsigned> threshold(nvmlTemperatureThresholds_t type) const;
    [[nodiscard]] Reading<unsigned> fan() const;
    [[nodiscard]] Reading<unsigned> performance_state() const;
    [[nodiscard]] Reading<unsigned> power() const;  // milliwatts
    [[nodiscard]] Reading<unsigned> power_limit() const;
    [[nodiscard]] Reading<unsigned> power_default_limit() const;
    [[nodiscard]] Reading<Modes> power_limits() const;  // lowest, highest
    [[nodiscard]] Reading<unsigned> clock(nvmlClockType_t type) const;
    [[nodiscard]] Reading<unsigned> max_clock(nvmlClockType_t type) const;
    [[nodiscard]] Reading<unsigned> application_clock(nvmlClockType_t type) const;
    [[nodiscard]] Reading<unsigned> compute_mode() const;
    [[nodiscard]] Reading<unsigned> persistence() const;
    [[nodiscard]] Reading<unsigned> display_active() const;
    [[nodiscard]] Reading<unsigned> display_mode() const;
    [[nodiscard]] Reading<unsigned> accounting() const;
    [[nodiscard]] Reading<unsigned> architecture() const;
    [[nodiscard]] Reading<unsigned> pcie_generation() const;
    [[nodiscard]] Reading<unsigned> pcie_width() const;
    [[nodiscard]] Reading<unsigned> max_pcie_generation() const;
    [[nodiscard]] Reading<unsigned> max_pcie_width() const;
    [[nodiscard]] Reading<unsigned> encoder() const;
    [[nodiscard]] Reading<unsigned> decoder() const;
    [[nodiscard]] Reading<unsigned> jpeg() const;
    [[nodiscard]] Reading<unsigned> flow() const;

    [[nodiscard]] Reading<std::vector<Process>> processes() const;
    /// The MIG devices, by index.
    [[nodiscard]] std::vector<Device> mig_devices() const;

private:
    template <class T, class Function, class... Before>
    Reading<T> get(const char* name, Before... before) const;
    template <class Function>
    Reading<std::string> get_text(const char* name, unsigned size) const;
    template <class Function>
    Reading<Modes> get_pair(const char* name) const;

    const DriverLibrary& library_;
    unsigned index_;
    nvmlDevice_t handle_ = nullptr;
    nvmlReturn_t problem_;
};

/// The name of a process as the driver knows it; "[Not Found]" when it has gone.
std::string process_name(const DriverLibrary& library, std::uint32_t pid);

}  // namespace aliquot::sim::smi
