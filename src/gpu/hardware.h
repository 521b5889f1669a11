// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "gpu/inventory.h"

namespace aliquot::gpu {

/// One reading of one GPU. An empty field means: this GPU does not report it.
struct Sample {
    std::uint64_t memory_used_bytes = 0;
    std::uint64_t memory_total_bytes = 0;
    std::optional<unsigned> gpu_busy_percent;     // 0 to 100, over the driver's own window
    std::optional<unsigned> memory_busy_percent;  // 0 to 100
    std::optional<unsigned> temperature_celsius;
    std::optional<std::uint64_t> power_milliwatts;
};

/// A process that holds memory of a GPU. Pids are of the driver's (host) pid namespace.
struct Process {
    std::uint32_t pid = 0;
    std::optional<std::uint64_t> memory_bytes;  // empty: the driver does not tell
    bool graphics = false;
};

/// Something the driver reported by itself.
struct FaultEvent {
    Uuid gpu;               // empty: it concerns the node
    std::uint64_t xid = 0;  // NVIDIA's error number
    /// The MIG device it happened on; empty: the whole GPU, or the driver does not tell.
    std::optional<unsigned> gpu_instance;
    std::optional<unsigned> compute_instance;
    /// No fault but a change: MIG instances of this GPU came or went; `xid` is 0 then.
    bool reconfigured = false;
};

/// What a GPU that answers says of its own state. Empty: it does not report that.
struct Condition {
    std::optional<bool> remap_pending;       // rows of memory are remapped by the next reset
    std::optional<bool> remap_failed;        // no spare rows are left: the board is to be replaced
    std::optional<bool> retirement_pending;  // pages are retired by the next reset (before Ampere)
    std::optional<bool> slowed_by_heat;      // hardware or software thermal slowdown is active
    std::optional<unsigned> temperature_celsius;
    std::optional<unsigned> shutdown_celsius;
    friend bool operator==(const Condition&, const Condition&) = default;
};

/// How one GPU answers right now; the basis of recovery.
struct Probe {
    Uuid gpu;
    bool answers = false;
    std::string problem;  // why it does not answer: "GPU is lost"
    /// The driver's own advice (field GPU_RECOVERY_ACTION): 0 none, 1 GPU reset, 2 node reboot,
    /// 3 drain P2P, 4 drain and reset, 5 recover IMEX domain, 6 PCIe bus reset, 7 system reboot. Empty: this driver has no such field.
    std::optional<unsigned> recovery_action;
    Condition condition;
};

/// Whether enumerate() reads how the GPUs are connected.
enum class Links : std::uint8_t { kRead, kLeaveOut };

/// What a node can tell about its GPUs. A holder of Sensors cannot change a device.
/// Thread-safe. A call ends within the implementation's deadline even when the driver hangs
/// (kUnavailable). One bad GPU never fails a call that is about all of them.
/// Implemented by nvml::Driver; tests/contract asks the simulated and a real driver the same
/// questions.
class Sensors {
public:
    virtual ~Sensors() = default;

    /// Looks at every GPU anew. A GPU that fails has Health kUnhealthy and what it could still tell.
    /// links    reading NVLink and PCIe distances costs a call for each pair of GPUs and each link:
    ///          leave them out where nobody waits for them (Inventory::links is then empty)
    /// errors   kUnavailable: no driver, or it does not answer; kUnsupported: not one that we know;
    ///          kConflict: the driver's library and its kernel module are of different versions, so
    ///          that no new process can use a GPU
    virtual Result<Inventory> enumerate(Links links) = 0;
    Result<Inventory> enumerate() { return enumerate(Links::kRead); }

    virtual Result<Sample> sample(const Uuid& gpu) = 0;
    virtual Result<std::vector<Process>> processes(const Uuid& gpu) = 0;

    /// Asks each of `gpus` whether it answers. A GPU that fails is an answer, not an error.
    virtual Result<std::vector<Probe>> probe(const std::vector<Uuid>& gpus) = 0;

    /// Waits at most `timeout` for fault reports; empty when there was none. Registers for events
    /// on first use and again after enumerate() found other GPUs.
    virtual Result<std::vector<FaultEvent>> wait_faults(std::chrono::milliseconds timeout) = 0;
};

}  // namespace aliquot::gpu
