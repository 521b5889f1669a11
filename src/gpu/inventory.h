// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
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

/// Wall-clock time; the epoch: not known.
using Moment = std::chrono::system_clock::time_point;

/// Whether a GPU or MIG device may be handed out, and if not, why and what to do.
struct Health {
    enum class State : std::uint8_t {
        kHealthy,
        kDegraded,   // may be handed out; something is to be done about it
        kUnhealthy,  // not to be handed out
    };
    State state = State::kHealthy;
    std::string reason;  // "Xid 79: GPU has fallen off the bus"; empty when healthy
    std::string
        advice{};    // what a person should do: "restart the machine; ..."; empty when healthy
    Moment since{};  // when it came to be so
    friend bool operator==(const Health&, const Health&) = default;
    [[nodiscard]] bool ok() const { return state != State::kUnhealthy; }
};
/// "Healthy", "Degraded", "Unhealthy".
std::string_view to_text(Health::State state);

/// Where an instance lies on the GPU's memory slices.
struct MigPlacement {
    unsigned start = 0;
    unsigned size = 0;
    friend bool operator==(const MigPlacement&, const MigPlacement&) = default;
    friend auto operator<=>(const MigPlacement&, const MigPlacement&) = default;
};

/// A MIG device: one compute instance of a GPU instance, which is what a container gets. Comes and
/// goes while the driver is loaded.
struct MigDevice {
    Uuid uuid;                      // "MIG-..."
    unsigned index = 0;             // the driver's, among those of its GPU; has gaps
    std::string profile;            // "1g.10gb", "1g.10gb+me", "1c.3g.20gb" (gpu/mig_profile.h)
    unsigned gpu_instance = 0;      // id
    unsigned compute_instance = 0;  // id, within its GPU instance
    MigPlacement placement;         // of the GPU instance
    std::uint64_t memory_bytes = 0;
    unsigned gpu_slices = 0;
    unsigned compute_slices = 0;
    unsigned multiprocessors = 0;
    unsigned copy_engines = 0;
    unsigned decoders = 0;
    unsigned encoders = 0;
    unsigned jpeg_engines = 0;
    unsigned optical_flow_engines = 0;
    /// /dev/nvidia-caps/nvidia-cap<N> that give access; empty: the kernel does not tell.
    std::optional<unsigned> gpu_instance_cap;
    std::optional<unsigned> compute_instance_cap;
    Health health;

    friend bool operator==(const MigDevice&, const MigDevice&) = default;
};

/// Whether a hypervisor stands between the driver and the GPU.
/// source   NVML, nvmlGpuVirtualizationMode_t
enum class Virtualization : std::uint8_t {
    kNone,
    kPassthrough,  // a whole GPU given to this virtual machine
    kVgpuGuest,    // this virtual machine sees a part of a GPU
    kVgpuHost,     // this machine gives parts of it to virtual machines
    kVsgaHost,
};

/// What the driver says of one GPU. Its facts do not change while the driver is loaded, but for
/// MIG, the compute mode and health.
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
    bool mig_pending = false;            // the mode will be the other one after a reset
    std::vector<MigDevice> mig_devices;  // by index; empty unless mig_enabled
    Virtualization virtualization = Virtualization::kNone;
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
