// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

/// The GPUs that can be simulated: what data sheets and the driver say of each product.
namespace aliquot::sim {

enum class Ecc : std::uint8_t { kNone, kOff, kOn };

/// How several GPUs of a model are joined in one machine.
enum class Fabric : std::uint8_t {
    kNone,    // PCIe only
    kBridge,  // NVLink needs a bridge, which our machines do not have: links exist, inactive
    kMesh,    // NVLink from GPU to GPU (V100: the cube of eight)
    kSwitch,  // NVSwitch from five GPUs on, below that a mesh
};

/// One row of the table. All figures as the driver reports them, not as marketing rounds them.
struct Model {
    std::string_view name;     // "a2": what a user writes
    std::string_view product;  // "NVIDIA A2": what the driver calls it
    unsigned architecture;     // NVML's number: 4 Pascal .. 10 Blackwell
    unsigned brand;            // NVML's number: 2 Tesla, 5 GeForce, 14 NVIDIA
    int compute_major;
    int compute_minor;
    std::uint16_t pci_device;
    std::uint16_t pci_subsystem;  // subsystem vendor is NVIDIA's
    bool display;                 // PCI class VGA instead of 3D controller
    unsigned memory_mib;
    unsigned reserved_mib;  // what the driver keeps for itself
    unsigned bar1_mib;
    unsigned bus_width_bits;
    unsigned multiprocessors;
    unsigned cores;
    unsigned power_default_watts;
    unsigned power_min_watts;
    unsigned power_max_watts;
    unsigned power_idle_watts;
    unsigned graphics_mhz;  // highest
    unsigned base_mhz;      // default application clock
    unsigned memory_mhz;
    unsigned video_mhz;
    unsigned idle_graphics_mhz;
    unsigned idle_memory_mhz;
    unsigned idle_state;  // performance state without a process: 8, or 0 where it never leaves P0
    unsigned pcie_generation;
    unsigned pcie_width;
    unsigned mig_devices;  // at most so many; 0: no MIG
    Ecc ecc;
    Fabric fabric;
    unsigned links;         // NVLink links per GPU
    unsigned link_version;  // NVLink generation
    unsigned fans;          // 0: cooled by the chassis
    unsigned encoders;
    unsigned decoders;
    unsigned copy_engines;
    unsigned shutdown_celsius;
    unsigned slowdown_celsius;
    unsigned max_celsius;
    std::string_view part_number;
    std::string_view vbios;

    [[nodiscard]] bool geforce() const { return brand == 5; }
    [[nodiscard]] bool remaps_rows() const { return architecture >= 7 && ecc == Ecc::kOn; }
    [[nodiscard]] bool retires_pages() const { return architecture < 7 && ecc == Ecc::kOn; }
    [[nodiscard]] std::uint64_t memory_bytes() const { return std::uint64_t{memory_mib} << 20; }
    [[nodiscard]] std::uint64_t reserved_bytes() const { return std::uint64_t{reserved_mib} << 20; }
};

std::span<const Model> models();

/// By table name; nullptr when there is none.
const Model* find_model(std::string_view name);

}  // namespace aliquot::sim
