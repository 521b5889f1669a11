// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace aliquot::gpu {

/// A GPU's name for life, as the driver spells it: "GPU-8a6b...".
struct Uuid {
    std::string text;
    friend bool operator==(const Uuid&, const Uuid&) = default;
    friend auto operator<=>(const Uuid&, const Uuid&) = default;
};

struct PciAddress {
    unsigned domain = 0;
    unsigned bus = 0;
    unsigned device = 0;
    friend bool operator==(const PciAddress&, const PciAddress&) = default;
};
/// "0000:3b:00.0", as sysfs names it.
std::string to_text(const PciAddress& address);

/// Whether a GPU may be handed out, and if not, why.
struct Health {
    enum class State : std::uint8_t { kHealthy, kUnhealthy };
    State state = State::kHealthy;
    std::string reason;  // "Xid 79: GPU has fallen off the bus"; empty when healthy
    friend bool operator==(const Health&, const Health&) = default;
    [[nodiscard]] bool ok() const { return state == State::kHealthy; }
};

/// What the driver says of one GPU. The facts do not change while the driver is loaded.
struct Gpu {
    unsigned index = 0;  // the driver's order (PCI bus order); may change over boots
    Uuid uuid;           // empty: the driver could not even tell that (then health says why)
    unsigned minor = 0;  // /dev/nvidia<minor>
    std::string model;   // "NVIDIA A2"
    std::uint64_t memory_bytes = 0;
    unsigned compute_major = 0;  // compute capability
    unsigned compute_minor = 0;
    PciAddress pci;
    std::uint32_t pci_device_id = 0;    // device << 16 | vendor, e.g. 0x25B610DE
    std::optional<unsigned> numa_node;  // empty: none, or sysfs says -1
    bool mig_capable = false;
    bool mig_enabled = false;
    Health health;  // what enumerating it showed; events add to it (gpu/health.h)

    friend bool operator==(const Gpu&, const Gpu&) = default;
};

/// How well two GPUs are connected, best first where both apply: the score NVIDIA's allocator uses.
/// NVLink counts 100 per link; else same board 60, one PCIe switch 50, several 40, host bridge 30,
/// same CPU 20, across CPUs 10.
using LinkScore = unsigned;

/// One look at a node.
struct Inventory {
    std::string driver_version;  // "580.65.06"
    int cuda_version = 0;        // 13000
    std::vector<Gpu> gpus;       // by index
    /// links[i][j] for gpus[i] and gpus[j]; empty when not read. Symmetric, diagonal 0.
    std::vector<std::vector<LinkScore>> links;

    [[nodiscard]] const Gpu* find(const Uuid& uuid) const;
    friend bool operator==(const Inventory&, const Inventory&) = default;
};

/// Fills in what a failed GPU could not tell from what was known of it before (matched by uuid,
/// else by PCI address, else by index), so that a lost GPU keeps its identity; a GPU of `before`
/// that the driver does not list any more stays in the result, unhealthy. The driver's order is
/// kept.
Inventory with_memory_of(const Inventory& before, Inventory now);

}  // namespace aliquot::gpu
